"""Replay of recorded conversations of real agents under guards."""
