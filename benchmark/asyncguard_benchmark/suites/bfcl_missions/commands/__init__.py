"""Command line of this suite."""
