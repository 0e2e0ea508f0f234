"""BFCL multi-turn, read from a user's own copy of the package bfcl-eval."""
