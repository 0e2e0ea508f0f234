"""ToolBench-X: tasks and tools of a user's own download, played by ``bench adapt``."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="tasks and tools of a download of ToolBench-X, in a sandbox; played by `bench adapt`",
    adapters=(".commands.options:add_adapt",),
)
