"""Descriptions of ToolBench-X's faults: hints, profiles in the tool modules, and the manifest of hazards."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.suites.toolbench_x.drift import DRIFT_MODES
from asyncguard_benchmark.suites.toolbench_x.terms import (
    EXCEPTIONS,
    FAILPOINTS,
    WORKFLOWS,
    Reading,
    category,
    expect,
    load_json,
    shown,
)

_SEPARATOR = "::"


@dataclass(frozen=True, kw_only=True)
class Hint:
    """A hint that an agent may get when a tool breaks."""

    tool: str
    failpoint: str
    """As the key has it; modules may have failpoints of their own."""
    hazard: Hazard
    text: str
    """The short form and the long one."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """Rate at which one failpoint fires, and its fault: an exception or a drift."""

    tool: str | None
    """The tool it belongs to; None for all tools of the task."""
    failpoint: Failpoint
    probability: float
    max_times: int
    exception: str | None = None
    drift: str | None = None


@dataclass(frozen=True, kw_only=True)
class Label:
    """Entry of the manifest for one task."""

    task: str
    """Its key."""
    hazard: Hazard
    controls: tuple[Control, ...] = ()


def read_hints(value: Any, where: str) -> tuple[Hint, ...]:
    """Return the hints of one task: ``{"<tool>::<failpoint>": {...}}``.

    Raises:
        DataError: a key or an entry does not describe a hint, or two entries have different
            categories.
    """
    expect(value, dict, where, f'an object of hints by "<tool>{_SEPARATOR}<failpoint>"')
    found = []
    for key, entry in value.items():
        place = f"{where}[{key!r}]"
        tool, separator, failpoint = str(key).partition(_SEPARATOR)
        if not separator or not tool or not failpoint:
            raise DataError(place, f'expected a key "<tool>{_SEPARATOR}<failpoint>"')
        expect(entry, dict, place, "an object")
        texts = [entry.get(name) for name in ("minimal_prompt_hint", "detailed_prompt_hint")]
        text = "\n".join(each.strip() for each in texts if isinstance(each, str) and each.strip())
        if not text:
            raise DataError(
                place,
                'expected a text in "minimal_prompt_hint" or "detailed_prompt_hint", found none',
            )
        hazard = category(entry.get("exception_category"), f"{place}.exception_category")
        found.append(Hint(tool=tool, failpoint=failpoint, hazard=hazard, text=text))
    if len({each.hazard for each in found}) > 1:
        said = ", ".join(sorted({each.hazard.value for each in found}))
        raise DataError(where, f"expected one category for all hints of a task, found {said}")
    return tuple(found)


def read_catalogue(path: Path, where: str) -> Reading[tuple[str, tuple[Hint, ...]]]:
    """Return the catalogue: ``{"<task key>": hints}``; a task whose hints are broken is told, and hides no other."""
    found, problems = [], []
    try:
        content = expect(load_json(path, where), dict, where, "an object of hints by task key")
    except DataError as problem:
        return Reading(found=(), problems=(problem,))
    for key, value in content.items():
        try:
            found.append((str(key), read_hints(value, f"{where}[{key!r}]")))
        except DataError as problem:
            problems.append(problem)
    return Reading(found=tuple(found), problems=tuple(problems))


def read_profile(value: Any, where: str) -> tuple[Control, ...]:
    """Return a profile: failpoint -> controls, on its own, under ``failpoints``, or once more by tool.

    Failpoints that are disabled, never fire or fire no time are left out.

    Raises:
        DataError: it is in no form that is understood.
    """
    expect(value, dict, where, "an object of controls by failpoint")
    content = value.get("failpoints", value)
    expect(content, dict, where, "an object of controls by failpoint")
    found: list[Control] = []
    for key, entry in content.items():
        place = f"{where}[{key!r}]"
        if key in FAILPOINTS:
            found += _control(entry, place, None, FAILPOINTS[key])
        elif isinstance(entry, dict) and entry and set(entry) <= set(FAILPOINTS):
            for name, inner in entry.items():
                found += _control(inner, f"{place}[{name!r}]", str(key), FAILPOINTS[name])
        elif isinstance(entry, dict):
            raise DataError(
                place,
                f"expected one of the failpoints {', '.join(FAILPOINTS)}, or a tool with some of them",
            )
    return tuple(found)


def _control(entry: Any, where: str, tool: str | None, failpoint: Failpoint) -> list[Control]:
    expect(entry, dict, where, "an object with probability and max_times")
    probability, times = entry.get("probability"), entry.get("max_times")
    if (
        isinstance(probability, bool)
        or not isinstance(probability, int | float)
        or not 0 <= probability <= 1
    ):
        raise DataError(
            f"{where}.probability", f"expected a number from 0 to 1, found {shown(probability)}"
        )
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise DataError(
            f"{where}.max_times", f"expected a whole number of at least 0, found {shown(times)}"
        )
    if not entry.get("enabled", True) or not probability or not times:
        return []
    exception, drift = entry.get("exception_type"), entry.get("drift_mode")
    if drift is not None and drift not in DRIFT_MODES:
        raise DataError(
            f"{where}.drift_mode", f"{shown(drift)} is none of {', '.join(sorted(DRIFT_MODES))}"
        )
    if drift is None and exception not in EXCEPTIONS:
        text = f"expected one of {', '.join(EXCEPTIONS)}, or a drift_mode, found {shown(exception)}"
        raise DataError(f"{where}.exception_type", text)
    made = Control(
        tool=tool,
        failpoint=failpoint,
        probability=float(probability),
        max_times=times,
        exception=exception if drift is None else None,
        drift=drift,
    )
    return [made]


def read_manifest(path: Path, where: str) -> Reading[Label]:
    """Return the manifest: ``{"items": [{"relative_path", "task_id", "exception_type"}]}``; the last is a category.

    An item may also hold ``faults``, a list of ``{"tool", "failpoint", "probability", "max_times", "exception_type",
    "drift_mode"}``, which goes before the profile of the task's module.
    """
    found: list[Label] = []
    problems: list[DataError] = []
    try:
        content = expect(load_json(path, where), dict, where, 'an object with "items"')
        items = expect(content.get("items"), list, f"{where}.items", "a list")
    except DataError as problem:
        return Reading(found=(), problems=(problem,))
    for number, item in enumerate(items):
        try:
            found.append(_label(item, f"{where}.items[{number}]"))
        except DataError as problem:
            problems.append(problem)
    return Reading(found=tuple(found), problems=tuple(problems))


def _label(item: Any, where: str) -> Label:
    expect(item, dict, where, "an object")
    relative = expect(
        item.get("relative_path"), str, f"{where}.relative_path", "the path of a task file"
    )
    parts = Path(relative).parts
    if len(parts) != 3 or parts[0] not in WORKFLOWS:
        form = "<workflow>/<topic>/<subtopic>.json, a workflow being one of " + ", ".join(WORKFLOWS)
        raise DataError(f"{where}.relative_path", f"expected {form}, found {relative!r}")
    task = expect(item.get("task_id"), str, f"{where}.task_id", "the id of a task")
    controls: list[Control] = []
    for number, entry in enumerate(
        expect(item.get("faults", []), list, f"{where}.faults", "a list")
    ):
        controls += _fault(entry, f"{where}.faults[{number}]")
    return Label(
        task=f"{parts[0]}/{parts[1]}/{Path(relative).stem}/{task}",
        hazard=category(item.get("exception_type"), f"{where}.exception_type"),
        controls=tuple(controls),
    )


def _fault(entry: Any, where: str) -> list[Control]:
    expect(entry, dict, where, "an object")
    name: Mapping[str, Any] = entry
    tool = expect(name.get("tool"), str, f"{where}.tool", "the name of a tool")
    failpoint = FAILPOINTS.get(name.get("failpoint", ""))
    if failpoint is None:
        raise DataError(
            f"{where}.failpoint",
            f"{shown(name.get('failpoint'))} is none of {', '.join(FAILPOINTS)}",
        )
    return _control(entry, where, tool, failpoint)
