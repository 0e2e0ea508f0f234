"""NESTFUL v2: tasks of a user's own download, played by ``bench adapt``."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="nested calls of the functions of a download of NESTFUL v2, in a sandbox; played by `bench adapt`",
    adapters=(".commands.options:add_adapt",),
)
