"""ToolBench-X, read from a user's own download.

The benchmark of "Beyond Function Calling: Benchmarking Tool-Using Agents under Tool-Environment Unreliability"
(arXiv 2606.25819) may not be passed on, so nothing of its data is here, and this reader was never run on it. It was
written after the published code (github.com/Foreverskyou/ToolBench-X, commit e6d8a30, MIT), and tested on small files
of the same form that were made for the tests.

**What the published code documents**, with the file that says so:

- ``tasks/<workflow>/<topic>/<subtopic>.json`` with workflow ``sequential``, ``parallel`` or ``mixture``, holding
  ``{"tasks": [{"id", "user_prompt", "tools_used", "final_answer"}]}``; ``tools_used`` are names, or
  ``{"tool_name", "type"}`` (``prompt_gentask.py``, ``gpt_gentask.py``). The loader also takes a list, or one task
  (``agent/loader.py``); ``expected_answer`` goes before ``final_answer`` (``gpt_genexception.py``).
- A task is named ``<workflow>/<topic>/<subtopic>/<id>`` everywhere (``gpt_genexception.py``, ``build_task_key``).
- ``tools/<workflow>/<topic>/<subtopic>/<id>.py``: one synchronous, annotated function with a Google-style docstring for
  each tool, free of randomness and of writes, answering an object with ``ok``, ``source``, ``provider``,
  ``confidence``, ``error``, ``evidence``, ``unsupported_fields``, ``final_value`` (``gpt_gentool.py``,
  ``prompt_gentool.py``). Schemas are made from signature and docstring; there is no file of schemas
  (``agent/parser.py``).
- ``tools_exception/<workflow>/<category>/<topic>/<subtopic>/<id>.py``: the same functions with faults of their own
  inside, beside them ``<id>.hints.json`` (``agent/loader.py``, ``gpt_genexception.py``). They are switched on by the
  variables ``INJECTION_CONFIG_JSON``, ``INJECTION_PROFILE`` and ``FAIL_SEED`` and by ``set_injection_config``, and hold
  ``strict_no_hint_profile``, ``guided_with_hint_profile`` and ``EXCEPTION_HINTS`` (``prompt_genexception.py``,
  ``agent/model_driven_core.py``).
- ``tools_exception/exception_hints_catalog.json``: ``{task key: {"<tool>::<failpoint>": {22 fields}}}``
  (``gpt_genexception.py``).
- The hazard manifest: ``{"items": [{"relative_path", "task_id", "exception_type"}]}``, where the last is a category
  (``evalscope_adapter/local_runtime.py``). It has no fixed name.
- An answer is right if it is the canonical one, character by character but for outer blanks (``agent/evaluation.py``).

**What is assumed here**, because the code leaves it to generated files or says nothing of it:

- The form of a profile: failpoint -> ``{"enabled", "probability", "max_times", "exception_type", "drift_mode"}``, on
  its own, under ``"failpoints"``, or once more by tool. Where a drift mode is given, it goes before the exception.
- ``faults`` in an item of the manifest (see ``toolbench_hazards.read_manifest``): an addition, for who wants to say
  faults from outside.
- The decision rule of ``toolbench_rule``: slots and attempts count from 0, the digest is read big-endian. The published
  instructions ask for a decision by task, tool, failpoint, slot and seed; each module has an implementation of its own.
- What a drift mode does to a value (``toolbench_drift``): the instructions name the modes and leave the rest open.

**Other than there, on purpose**: one fresh process for each episode (there, modules and their counters are shared by
all arms); the guided profile has the schedule of the strict one, so that a hint is the only difference; the answer is
what the agent submits, and nothing is mined from results; a hint is given where a tool fails, says ``"ok": false`` or
was struck from outside, and not for every text in ``error``, where tools also tell of sources they could not reach.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asyncguard_benchmark.errors import BenchmarkError, DataError
from asyncguard_benchmark.harness.faults import Hazard
from asyncguard_benchmark.suites.toolbench_x.drift import NEEDS_MEANING
from asyncguard_benchmark.suites.toolbench_x.hazards import (
    Control,
    Hint,
    Label,
    read_catalogue,
    read_hints,
    read_manifest,
    read_profile,
)
from asyncguard_benchmark.suites.toolbench_x.tasks import ForeignTask, read_tasks
from asyncguard_benchmark.suites.toolbench_x.terms import category, load_json
from asyncguard_benchmark.suites.toolbench_x.tool_modules import (
    HINTS,
    STRICT,
    ForeignModule,
    read_module,
)

CATALOGUE = "exception_hints_catalog.json"
MANIFEST = "hazard_manifest.json"


class NoDownloadError(BenchmarkError):
    """A folder holds nothing of ToolBench-X."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Places of the parts."""

    tasks: Path
    tools: Path
    faulty: Path
    """The tools with faults inside."""
    catalogue: Path
    manifest: Path

    @classmethod
    def of(cls, root: Path, manifest: Path | None = None) -> "Layout":
        """Return the published layout below a folder.

        Args:
            root: The folder.
            manifest: The hazard manifest, which has no published name; ``hazard_manifest.json`` by default.
        """
        faulty = root / "tools_exception"
        return cls(
            tasks=root / "tasks",
            tools=root / "tools",
            faulty=faulty,
            catalogue=faulty / CATALOGUE,
            manifest=manifest or root / MANIFEST,
        )


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A task with everything that belongs to it; None or empty where the download has nothing."""

    task: ForeignTask
    clean: ForeignModule | None
    faulty: ForeignModule | None
    hazard: Hazard | None
    """From the manifest, the hints, or the folder of the faulty module."""
    hints: tuple[Hint, ...]
    controls: tuple[Control, ...]
    """The schedule, for faults that are decided outside the modules."""

    @property
    def undecided(self) -> str | None:
        """Return the reason why the schedule cannot be applied from outside; None if it can."""
        if not self.controls:
            return (
                "no schedule: neither the manifest nor a profile that is a literal names failpoints"
            )
        modes = sorted(
            {each.drift for each in self.controls if each.drift in NEEDS_MEANING} - {None}, key=str
        )
        return f"{', '.join(map(str, modes))} cannot be applied from outside" if modes else None


@dataclass(frozen=True, kw_only=True)
class Download:
    """All that was found."""

    layout: Layout
    instances: tuple[Instance, ...]
    problems: tuple[DataError, ...]
    """Broken parts; the tasks that need them are missing from the instances or lack that part."""
    skipped: tuple[str, ...]
    """JSON files among the tasks that are none."""
    unused: tuple[str, ...]
    """Task keys of catalogue and manifest that no task has."""


def read_download(layout: Layout, beginnings: Sequence[str] = ("",)) -> Download:
    """Read everything and run nothing.

    Args:
        layout: Places of the parts.
        beginnings: Of task keys; modules of other tasks are not looked at.

    Raises:
        NoDownloadError: there is no folder of tasks.
    """
    if not layout.tasks.is_dir():
        raise NoDownloadError(
            f"{layout.tasks} is not a folder; name the one that holds tasks/, tools/ and tools_exception/ as they were "
            "published (github.com/Foreverskyou/ToolBench-X says where to get them)"
        )
    tasks = read_tasks(layout.tasks)
    problems = list(tasks.problems)
    hints = _catalogue(layout, problems)
    labels = _manifest(layout, problems)
    joined = _Joined(
        layout=layout, faulty=_faulty_modules(layout.faulty), hints=hints, labels=labels
    )
    wanted = [task for task in tasks.found if task.key.startswith(tuple(beginnings))]
    instances = tuple(joined.instance(task, problems) for task in wanted)
    known = {task.key for task in tasks.found}
    unused = tuple(sorted((set(hints) | set(labels)) - known))
    return Download(
        layout=layout,
        instances=instances,
        problems=tuple(problems),
        skipped=tasks.skipped,
        unused=unused,
    )


def _catalogue(layout: Layout, problems: list[DataError]) -> dict[str, tuple[Hint, ...]]:
    if not layout.catalogue.is_file():
        return {}
    read = read_catalogue(layout.catalogue, f"{layout.faulty.name}/{CATALOGUE}")
    problems += read.problems
    return dict(read.found)


def _manifest(layout: Layout, problems: list[DataError]) -> dict[str, Label]:
    if not layout.manifest.is_file():
        return {}
    read = read_manifest(layout.manifest, layout.manifest.name)
    problems += read.problems
    return {each.task: each for each in read.found}


def _faulty_modules(root: Path) -> dict[tuple[str, ...], Path]:
    """Return files by workflow, topic, subtopic and name; a category may stand after the workflow."""
    found: dict[tuple[str, ...], Path] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if len(parts) in (4, 5):
            found.setdefault((parts[0], *parts[-3:]), path)
    return found


@dataclass(frozen=True, kw_only=True)
class _Joined:
    """Everything beside the tasks, by what tasks find it with."""

    layout: Layout
    faulty: Mapping[tuple[str, ...], Path]
    hints: Mapping[str, tuple[Hint, ...]]
    labels: Mapping[str, Label]

    def instance(self, task: ForeignTask, problems: list[DataError]) -> Instance:
        path = self.faulty.get(task.module)
        faulty = self._module(path, task.tools, problems) if path else None
        clean = self.layout.tools.joinpath(*task.module)
        label = self.labels.get(task.key)
        hints = self._hints(task, faulty, problems)
        self._check(task, label, problems)
        return Instance(
            task=task,
            clean=self._module(clean, task.tools, problems) if clean.is_file() else None,
            faulty=faulty,
            hazard=label.hazard
            if label
            else hints[0].hazard
            if hints
            else self._by_folder(faulty, problems),
            hints=hints,
            controls=(label.controls if label else ()) or self._profile(faulty, problems),
        )

    def _check(self, task: ForeignTask, label: Label | None, problems: list[DataError]) -> None:
        """Refuse faults on tools that the task does not have: they would never fire."""
        for control in label.controls if label else ():
            if control.tool not in task.tools:
                text = f"{task.key} has a fault on {control.tool}; its tools are {', '.join(task.tools)}"
                problems.append(DataError(self.layout.manifest.name, text))

    def _module(
        self, path: Path, wanted: Sequence[str], problems: list[DataError]
    ) -> ForeignModule | None:
        try:
            return read_module(path, wanted, self._name(path))
        except DataError as problem:
            problems.append(problem)
            return None

    def _name(self, path: Path) -> str:
        return path.relative_to(self.layout.tasks.parent).as_posix()

    def _hints(
        self, task: ForeignTask, faulty: ForeignModule | None, problems: list[DataError]
    ) -> tuple[Hint, ...]:
        """Return the hints from the catalogue, else from the file beside the module, else from the module itself."""
        if task.key in self.hints or faulty is None:
            return self.hints.get(task.key, ())
        beside = faulty.path.with_suffix(".hints.json")
        try:
            if beside.is_file():
                return read_hints(load_json(beside, self._name(beside)), self._name(beside))
            if HINTS in faulty.constants:
                return read_hints(faulty.constants[HINTS], f"{self._name(faulty.path)}, {HINTS}")
        except DataError as problem:
            problems.append(problem)
        return ()

    def _profile(
        self, faulty: ForeignModule | None, problems: list[DataError]
    ) -> tuple[Control, ...]:
        if faulty is None or STRICT not in faulty.constants:
            return ()
        try:
            return read_profile(faulty.constants[STRICT], f"{self._name(faulty.path)}, {STRICT}")
        except DataError as problem:
            problems.append(problem)
            return ()

    def _by_folder(self, faulty: ForeignModule | None, problems: list[DataError]) -> Hazard | None:
        """Return the folder after the workflow, where there is one more than tools without faults have."""
        parts = faulty.path.relative_to(self.layout.faulty).parts if faulty else ()
        if faulty is None or len(parts) != 5:
            return None
        try:
            return category(parts[1], self._name(faulty.path))
        except DataError as problem:
            problems.append(problem)
            return None
