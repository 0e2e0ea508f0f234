"""Faults of a recovery trial, in tools that append what they do to a log outside of the runtime."""
