"""The missions: a bundled suite with agents and players of its own, and scorers for result files."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="missions of one dialogue after each other; played and scored by `bench missions`",
    commands=(".commands.options:add_missions",),
    adapters=(".commands.adapt_options:add_mmtb", ".commands.adapt_options:add_c3"),
)
