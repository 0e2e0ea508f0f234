"""BFCL multi-turn: tasks and tools of a user's own copy of bfcl-eval, played by ``bench adapt``."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="tasks and tools of a copy of bfcl-eval, in a sandbox; played by `bench adapt bfcl`",
    adapters=(".commands.options:add_adapt",),
)
