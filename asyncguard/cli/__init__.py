"""The command ``asyncguard``.

A subcommand's imports are loaded when it runs, so that the command starts fast.
"""

from asyncguard.cli.app import main

__all__ = ["main"]
