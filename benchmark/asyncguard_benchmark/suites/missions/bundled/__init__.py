"""Missions that are written here: their format, their compiler, and the proofs that they hold."""
