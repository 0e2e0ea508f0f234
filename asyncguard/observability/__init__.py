"""Observability: events as records, for logs, trace files, spans and timelines.

The modules are imported one by one (``asyncguard.observability.log`` ...), so that a program which
needs one of them does not load the libraries of the others.

Internal; :mod:`asyncguard` names the public interface.
"""
