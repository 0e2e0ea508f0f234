"""The hazard suite: agents whose tools drift, break and contradict each other."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="tasks whose tools drift, break and contradict each other; played by `bench hazards`",
    toolsets={
        "LG": ".domains.logistics:TOOLSET",
        "EN": ".domains.energy:TOOLSET",
        "CL": ".domains.clinic:TOOLSET",
        "TR": ".domains.treasury:TOOLSET",
        "WH": ".domains.warehouse:TOOLSET",
        "WE": ".domains.weather:TOOLSET",
        "RA": ".domains.rail:TOOLSET",
        "LE": ".domains.lending:TOOLSET",
        "FL": ".domains.fleet:TOOLSET",
    },
    agents={
        "naive": ".agents.simple:NaiveAgent",
        "retry-happy": ".agents.simple:RetryHappyAgent",
        "gives-up-early": ".agents.simple:GivesUpEarlyAgent",
        "over-trusting": ".agents.simple:OverTrustingAgent",
        "competent": ".agents.competent:CompetentAgent",
    },
    # `bench score` lays its episodes beside AsyncTool's by that suite's verdict; `bench hazards score` gives its own.
    score="asyncguard_benchmark.suites.asynctool.scorers.verdict:score",
    fault_modes=".mode_table:MODES",
    published={"hazards": ".commands.hazards:published"},
    commands=(".commands.options:add_hazards",),
    closing=True,
)
