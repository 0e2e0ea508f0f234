"""Contracts that every implementation of a port has to fulfil.

A check raises an ``AssertionError`` that says which rule was broken.

Internal; :mod:`asyncguard` names the public interface.
"""

from asyncguard.testing.conformance.clock import check_clock
from asyncguard.testing.conformance.executor import check_executor
from asyncguard.testing.conformance.journal.contract import check_journal
from asyncguard.testing.conformance.observer import check_observer

__all__ = ["check_clock", "check_executor", "check_journal", "check_observer"]
