"""Contract tests for implementations of the journal port.

Internal; :mod:`asyncguard` names the public interface.
"""
