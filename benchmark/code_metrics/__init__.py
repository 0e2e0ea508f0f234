"""Measure the size, shape and language of Python packages; start it with ``run.py``."""
