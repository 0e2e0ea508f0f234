"""Metrics: figures over many scores."""
