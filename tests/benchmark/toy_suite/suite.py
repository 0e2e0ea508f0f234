"""The description that the finder reads."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="people are greeted by their names",
    toolsets={"GR": ".greetings:TOOLSET"},
    agents={"polite": ".agents:PoliteAgent", "familiar": ".agents:FamiliarAgent"},
    sets=("greetings",),
    compositions=".tasks:compositions",
    tasks=".tasks:tasks",
    score=".scorer:score",
    chapters=(".chapters:greetings",),
    commands=(".commands:add_greet",),
)
