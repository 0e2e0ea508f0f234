"""NESTFUL v2: tasks of a user's own download, played by ``bench adapt``."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="nested calls of the functions of a download of NESTFUL v2, in a sandbox; played by `bench adapt`",
    toolsets={
        "NF-DG": ".terms:GENERATION",
        "NF-DF": ".terms:FORMAT",
        "NF-NO": ".terms:NUMBERS",
        "NF-SM": ".terms:STRINGS",
        "NF-DM": ".terms:MANAGEMENT",
    },
    task_tools=".toolbox:task_tools",
    world=".toolbox:open_world",
    # Calls, results and labels are judged as those of AsyncTool are; the scores of NESTFUL itself are in `matches`.
    score="asyncguard_benchmark.suites.asynctool.scorers.verdict:score",
    adapters=(".commands.options:add_adapt",),
)
