"""The missions: a bundled suite that is being written, and scorers for result files in the published shape."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="missions of one dialogue after each other; result files are scored by `bench missions`",
    commands=(".commands.options:add_missions",),
)
