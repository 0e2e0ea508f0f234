"""BFCL multi-turn: tasks and tools of a user's own copy of bfcl-eval, played by ``bench adapt``."""

from asyncguard_benchmark.harness.suites import BenchmarkSuite

SUITE = BenchmarkSuite(
    summary="tasks and tools of a copy of bfcl-eval, in a sandbox; played by `bench adapt bfcl`",
    toolsets={
        "bfcl-FS": ".toolsets:FILES",
        "bfcl-MA": ".toolsets:MESSAGES",
        "bfcl-SC": ".toolsets:POSTS",
        "bfcl-TP": ".toolsets:TICKETS",
        "bfcl-TB": ".toolsets:TRADING",
        "bfcl-TP*": ".toolsets:TRAVEL",
        "bfcl-MO": ".toolsets:VEHICLE",
        "bfcl-MATH": ".toolsets:MATH",
    },
    task_tools=".toolsets:tools_of_task",
    world=".playing:open_world",
    world_notes=".playing:notes_of",
    score=".scorer:score",
    foreign=".compositions:drawn_from",
    adapters=(".commands.options:add_adapt",),
)
