"""The pure core: values and rules, no I/O, clock, randomness, logging or langgraph.

Events go in, decisions come out. Everything here is deterministic and imports only the standard
library, :mod:`asyncguard.config` and :mod:`asyncguard.errors`.

Internal; :mod:`asyncguard` names the public interface.
"""
