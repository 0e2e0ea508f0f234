"""Fits personas to the figures that the paper prints for its models."""
