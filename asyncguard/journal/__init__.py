"""Journal: a durable record of every attempt with an effect, written before the effect.

This package has the port and its rules. The implementation for SQLite and PostgreSQL is in
:mod:`asyncguard.journal.sql`.

Internal; :mod:`asyncguard` names the public interface.
"""
