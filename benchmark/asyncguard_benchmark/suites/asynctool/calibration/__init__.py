"""Calibration: personas are fitted to the figures that the paper prints for its models."""
