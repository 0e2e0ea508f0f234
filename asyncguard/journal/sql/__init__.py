"""The journal in SQLite or PostgreSQL: begins and outcomes of attempts, outside the checkpoints.

The intent of a call that may not be repeated is committed before its tool is entered. A process
that resumes a thread after a crash learns only here which calls were begun. The guarantees are in
:mod:`asyncguard.journal.port`.

Own code, not SQLAlchemy: 50 to 100 µs more a statement, where a step may take 500.

Internal; :mod:`asyncguard` names the public interface.
"""
