"""The command ``asyncguard ledger``: calls in the journal, for a person who operates agents."""

from asyncguard.cli.ledger.commands import main

__all__ = ["main"]
