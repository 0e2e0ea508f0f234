"""The command ``asyncguard``; packages add to it by the entry point ``asyncguard.commands``.

A subcommand's imports are loaded when it runs, so that the command starts fast.

Own code, not click or typer: the time of ``--help`` is measured, and argparse is there.

Internal; :mod:`asyncguard` names the public interface.
"""

from asyncguard.cli.app import main

__all__ = ["main"]
