"""The command ``asyncguard``; packages add to it by the entry point ``asyncguard.commands``.

A subcommand's imports are loaded when it runs, so that the command starts fast.

Internal; :mod:`asyncguard` names the public interface.
"""

from asyncguard.cli.app import main

__all__ = ["main"]
