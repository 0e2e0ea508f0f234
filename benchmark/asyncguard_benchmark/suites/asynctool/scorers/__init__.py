"""Scorers: each a small function over one episode."""
