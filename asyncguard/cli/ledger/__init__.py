"""The command ``asyncguard ledger``: calls in the journal, for operators of agents.

Internal; :mod:`asyncguard` names the public interface.
"""
