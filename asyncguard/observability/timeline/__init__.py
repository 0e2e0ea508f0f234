"""Timeline: a run drawn for a terminal.

Internal; :mod:`asyncguard` names the public interface.
"""
