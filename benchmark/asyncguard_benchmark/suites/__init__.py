"""Suites: each has its data, tasks, agents, scorers and chapters."""
