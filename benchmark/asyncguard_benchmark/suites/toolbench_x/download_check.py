"""Check of a download of ToolBench-X: the parts that it has and lacks, as plain JSON; nothing of it runs."""

from collections import Counter
from typing import Any

from asyncguard_benchmark.suites.toolbench_x.download import Download
from asyncguard_benchmark.suites.toolbench_x.play import FaultSource, cannot_play


def checked(download: Download) -> dict[str, Any]:
    """Return counts, what is missing, and every problem by its place."""
    all_of_them = download.instances
    tools = {name for each in all_of_them for name in each.task.tools}
    return {
        "counts": {
            "tasks": len(all_of_them),
            "names of tools": len(tools),
            "clean modules": sum(each.clean is not None for each in all_of_them),
            "faulty modules": sum(each.faulty is not None for each in all_of_them),
            "tasks with hints": sum(bool(each.hints) for each in all_of_them),
            "tasks with a hazard": sum(each.hazard is not None for each in all_of_them),
            "tasks with a schedule": sum(bool(each.controls) for each in all_of_them),
            **{
                f"playable with faults {faults}": sum(
                    cannot_play(each, faults) is None for each in all_of_them
                )
                for faults in FaultSource
            },
            "problems": len(download.problems),
            "JSON files that are no tasks": len(download.skipped),
            "keys without a task": len(download.unused),
        },
        "workflows": dict(
            sorted(Counter(each.task.workflow.value for each in all_of_them).items())
        ),
        "hazards": dict(
            sorted(Counter(each.hazard.value for each in all_of_them if each.hazard).items())
        ),
        "missing": _missing(download),
        "problems": [str(each) for each in download.problems],
        "skipped": list(download.skipped),
        "unused": list(download.unused),
    }


def _missing(download: Download) -> dict[str, int]:
    """Return the parts that a complete download has, with how many tasks lack them."""
    layout = download.layout
    files = {layout.catalogue.name: layout.catalogue, layout.manifest.name: layout.manifest}
    lacking = {name: len(download.instances) for name, path in files.items() if not path.is_file()}
    for name, part in (("clean module", "clean"), ("faulty module", "faulty"), ("hints", "hints")):
        lacking[name] = sum(not getattr(each, part) for each in download.instances)
    return {name: count for name, count in lacking.items() if count}
