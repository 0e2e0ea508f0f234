"""Stochastic agents with rates that can be read, one parametrised kind for all published models."""
