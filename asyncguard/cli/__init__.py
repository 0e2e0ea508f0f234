"""The command ``asyncguard``; it loads what a subcommand needs when that subcommand runs, so that it starts fast."""

from asyncguard.cli.app import main

__all__ = ["main"]
