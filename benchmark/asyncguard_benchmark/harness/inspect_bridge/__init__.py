"""Inspect (the package inspect_ai): its models play episodes here, and our simulated agents are models there.

Only this folder and the modules `inspect_tasks` of suites import inspect_ai; none of them is imported unless Inspect
itself loads the entry point, or `bench inspect-logs` is run.
"""
