"""Harness: the clock, the environment, players, ablation, statistics and reports, for every suite."""
