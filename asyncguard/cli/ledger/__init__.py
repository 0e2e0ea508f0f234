"""The command ``asyncguard ledger``: calls in the journal, for operators of agents."""

from asyncguard.cli.ledger.commands import main

__all__ = ["main"]
