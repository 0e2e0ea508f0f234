"""Distributed execution: worker processes that run jobs from a queue, guarded by the journal.

Internal; :mod:`asyncguard` names the public interface.
"""
