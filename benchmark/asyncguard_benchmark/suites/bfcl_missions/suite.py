"""Dialogues of BFCL multi-turn played as missions, with the tools of the one suite and the players of the other."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="dialogues of a copy of bfcl-eval as missions; played by `bench adapt bfcl-missions`",
    adapters=(".commands.options:add_adapt",),
)
