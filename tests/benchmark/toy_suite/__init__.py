"""A suite as a stranger would write it: tests copy this folder to `asyncguard_benchmark/suites/toy` elsewhere."""
