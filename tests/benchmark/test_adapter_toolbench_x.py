"""Files of the form of ToolBench-X, made for these tests, and everything that can be wrong with them."""

import json
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.harness.scenario import Workflow
from asyncguard_benchmark.suites.toolbench_x.decision_rule import Injector, canonical_json, fires
from asyncguard_benchmark.suites.toolbench_x.download import (
    Download,
    Instance,
    Layout,
    NoDownloadError,
    read_download,
)
from asyncguard_benchmark.suites.toolbench_x.drift import DRIFT_MODES, NEEDS_MEANING, bend
from asyncguard_benchmark.suites.toolbench_x.hazards import Control

SAMPLE = Path(__file__).with_name("toolbench_x_sample")
PAPER = "sequential/Office_Supplies/Paper_orders/task_1"
ROOM = "parallel/Office_Supplies/Room_labels/task_1"
TASKS = "tasks/sequential/Office_Supplies/Paper_orders.json"
CLEAN = "tools/sequential/Office_Supplies/Paper_orders/task_1.py"
FAULTY = "tools_exception/sequential/Execution_Uncertainty/Office_Supplies/Paper_orders/task_1.py"
CATALOGUE = "tools_exception/exception_hints_catalog.json"
MANIFEST = "hazard_manifest.json"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sample that a test may break."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "download"))


def read(folder: Path) -> Download:
    """Return the download that a folder holds."""
    return read_download(Layout.of(folder))


def instance(key: str, folder: Path = SAMPLE) -> Instance:
    """One task of it."""
    return next(each for each in read(folder).instances if each.task.key == key)


def change(path: Path, how: Callable[[Any], Any]) -> None:
    """Rewrite a JSON file."""
    path.write_text(json.dumps(how(json.loads(path.read_text()))))


def test_everything_of_the_sample_is_found() -> None:
    """Tasks in both forms, modules with their schemas, hints from catalogue and file, hazards, schedules."""
    found = read(SAMPLE)
    assert found.problems == ()
    assert found.skipped == ("tasks/checkpoint.json",)
    assert found.unused == ("sequential/Office_Supplies/Nobody/task_9",)
    paper, room = instance(PAPER), instance(ROOM)
    assert (paper.task.workflow, paper.task.answer) == (Workflow.SEQUENTIAL, "3000")
    assert (room.task.workflow, room.task.answer) == (
        Workflow.PARALLEL,
        "North-2",
    )  # expected_answer goes first
    assert room.task.tools == ("read_wing", "read_floor")
    assert (paper.hazard, room.hazard) == (Hazard.EXECUTION, Hazard.OUTPUT)
    assert paper.hints[0].text.startswith(
        "The order service is slow"
    )  # the catalogue, not the module
    assert room.hints[0].failpoint == "before_return"
    timeouts = Control(
        tool=None,
        failpoint=Failpoint.BEFORE_TOOL_LOGIC,
        probability=1.0,
        max_times=2,
        exception="TimeoutError",
    )
    assert paper.controls == (timeouts,)
    assert room.controls[0].drift == "label_plus_value_format"
    assert room.controls[0].exception is None


def test_schemas_come_from_signatures_and_docstrings() -> None:
    """Types, defaults, what is required, and what each argument means."""
    module = instance(PAPER).clean
    assert module is not None
    count = module.tools[1]
    assert count.description == "Count the sheets in some packs."
    assert count.parameters == {
        "type": "object",
        "properties": {
            "pack": {
                "type": "string",
                "description": "Name of the pack; it ends in its number of sheets.",
            },
            "packs": {"type": "integer", "description": "How many packs."},
            "spare": {
                "anyOf": [{"type": "integer"}, {"type": "null"}],
                "default": 0,
                "description": "Sheets beside them.",
            },
        },
        "required": ["pack", "packs"],
        "additionalProperties": False,
    }


def test_annotations_of_every_form_are_understood(copy: Path) -> None:
    """Generics, unions, quoted ones and literals; an unknown one allows anything."""
    signature = "order_id: 'str | None', a: List[int], b: Dict[str, float], c: Literal['x', 'y'], d: Odd, e=print"
    module = copy / CLEAN
    module.write_text(module.read_text().replace("order_id: str", signature))
    found = instance(PAPER, copy).clean
    assert found is not None
    properties = {
        name: dict(each) for name, each in found.tools[0].parameters["properties"].items()
    }
    properties["order_id"].pop("description")
    assert properties == {
        "order_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "a": {"type": "array", "items": {"type": "integer"}},
        "b": {"type": "object", "additionalProperties": {"type": "number"}},
        "c": {"enum": ["x", "y"]},
        "d": {},
        "e": {},
    }
    assert "e" not in found.tools[0].parameters["required"]


def first_task(**changes: Any) -> Callable[[Any], Any]:
    """The first task with some fields changed, alone."""
    return lambda content: {"tasks": [{**content["tasks"][0], **changes}]}


def first_item(**changes: Any) -> Callable[[Any], Any]:
    """The first item with some fields changed, alone."""
    return lambda content: {"items": [{**content["items"][0], **changes}]}


FAULT = {"tool": "find_order", "failpoint": "before_return", "probability": 1, "max_times": 1}


@pytest.mark.parametrize(
    ("path", "how", "place", "expected"),
    [
        (TASKS, lambda _: 3, TASKS, 'an object with "tasks", or a list of tasks, found int 3'),
        (
            TASKS,
            lambda _: {"tasks": ["x"]},
            f"{TASKS}, tasks[0]",
            "expected an object, found str 'x'",
        ),
        (TASKS, first_task(id=None), "tasks[0].id", "expected a text, found nothing"),
        (TASKS, first_task(user_prompt=" "), "tasks[0].user_prompt", "found an empty one"),
        (TASKS, first_task(tools_used=[]), "tasks[0].tools_used", "at least one tool"),
        (
            TASKS,
            first_task(tools_used=[{"name": "x"}]),
            "tasks[0].tools_used[0]",
            "the name of a Python function",
        ),
        (
            TASKS,
            first_task(final_answer=None),
            "tasks[0].final_answer",
            "expected the canonical answer",
        ),
        (
            TASKS,
            first_task(final_answer=[3]),
            "tasks[0].final_answer",
            "expected a text or a number, found list",
        ),
        (TASKS, lambda c: {"tasks": c["tasks"] * 2}, TASKS, "two tasks have the id 'task_1'"),
        (
            TASKS,
            first_task(tools_used=["find_order", "sell"]),
            CLEAN,
            "a top-level function sell (not async)",
        ),
        (CATALOGUE, lambda _: [], CATALOGUE, "expected an object of hints by task key"),
        (
            CATALOGUE,
            lambda _: {PAPER: {"find_order": {}}},
            f"{PAPER}'",
            'a key "<tool>::<failpoint>"',
        ),
        (CATALOGUE, lambda _: {PAPER: {"a::b": {}}}, "'a::b'", "expected a text in"),
        (
            CATALOGUE,
            lambda _: {
                PAPER: {"a::b": {"minimal_prompt_hint": "x", "exception_category": "Bad Luck"}}
            },
            "exception_category",
            "'Bad Luck' is not a category of hazards",
        ),
        (
            CATALOGUE,
            lambda _: {
                PAPER: {
                    f"a::{name}": {"minimal_prompt_hint": "x", "exception_category": name}
                    for name in ("Output Drift", "Cross-source Conflict")
                }
            },
            CATALOGUE,
            "one category for all hints of a task, found conflict, output",
        ),
        (MANIFEST, lambda _: {"items": 1}, f"{MANIFEST}.items", "expected a list"),
        (
            MANIFEST,
            first_item(relative_path="x.json"),
            "items[0].relative_path",
            "<workflow>/<topic>/<subtopic>.json",
        ),
        (
            MANIFEST,
            first_item(exception_type="odd"),
            "items[0].exception_type",
            "not a category of hazards",
        ),
        (
            MANIFEST,
            first_item(faults=[{**FAULT, "failpoint": "x"}]),
            "faults[0].failpoint",
            "is none of before_tool",
        ),
        (
            MANIFEST,
            first_item(faults=[{**FAULT, "probability": 2}]),
            "faults[0].probability",
            "a number from 0 to 1",
        ),
        (
            MANIFEST,
            first_item(faults=[{**FAULT, "max_times": -1}]),
            "faults[0].max_times",
            "of at least 0",
        ),
        (
            MANIFEST,
            first_item(faults=[{**FAULT, "drift_mode": "x"}]),
            "faults[0].drift_mode",
            "is none of alias",
        ),
        (
            MANIFEST,
            first_item(faults=[{**FAULT, "exception_type": "x"}]),
            "faults[0].exception_type",
            "expected one of",
        ),
        (
            MANIFEST,
            first_item(faults=[{**FAULT, "tool": "sell", "exception_type": "OSError"}]),
            MANIFEST,
            "a fault on sell; its tools are find_order, count_sheets",
        ),
    ],
)
def test_what_is_broken_is_named_with_its_place(
    copy: Path, path: str, how: Callable[[Any], Any], place: str, expected: str
) -> None:
    """File, entry and field, and what was expected there; the other task is read all the same."""
    change(copy / path, how)
    found = read(copy)
    assert any(place in each.where and expected in each.problem for each in found.problems), (
        found.problems
    )
    assert ROOM in {each.task.key for each in found.instances}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (TASKS, '{"tasks": [}', "line 1, column 12: Expecting value; expected a JSON document"),
        (CATALOGUE, "", "line 1, column 1"),
        (CLEAN, "def find_order(:\n", "line 1: invalid syntax; expected a Python module"),
        (
            CLEAN,
            "def find_order(*all): ...\ndef count_sheets(): ...\n",
            "line 1: expected arguments with names",
        ),
        (
            CLEAN,
            "async def find_order(): ...\ndef count_sheets(): ...\n",
            "function find_order (not async)",
        ),
        (
            FAULTY,
            "strict_no_hint_profile = {'x': {}}\ndef find_order(): ...\ndef count_sheets(): ...\n",
            "failpoints",
        ),
    ],
)
def test_files_that_cannot_be_parsed_are_named(
    copy: Path, path: str, text: str, expected: str
) -> None:
    """With line and column where the parser knows them."""
    (copy / path).write_text(text)
    told = [str(each) for each in read(copy).problems]
    assert any(Path(path).name in each and expected in each for each in told), told


def test_bytes_that_are_no_text_are_named(copy: Path) -> None:
    """A file in another encoding is a problem of that file."""
    (copy / TASKS).write_bytes(b'{"tasks": "\xff"}')
    assert [str(each) for each in read(copy).problems] == [f"{TASKS}: it is not UTF-8 at byte 11"]


def test_modules_of_other_tasks_are_not_looked_at(copy: Path) -> None:
    """Selected tasks are read although a module of another task is broken."""
    (copy / CLEAN).write_text("(")
    assert len(read(copy).problems) == 1
    found = read_download(Layout.of(copy), ["parallel/"])
    assert ([each.task.key for each in found.instances], found.problems) == ([ROOM], ())


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    """The message says which folder to name."""
    with pytest.raises(NoDownloadError, match="name the one that holds tasks/"):
        read(tmp_path)


def test_faults_of_the_manifest_go_before_the_profile(copy: Path) -> None:
    """Faults in the manifest replace those of the profile."""
    change(copy / MANIFEST, first_item(faults=[{**FAULT, "drift_mode": "drop_fields"}]))
    (control,) = instance(PAPER, copy).controls
    assert (control.tool, control.failpoint, control.drift) == (
        "find_order",
        Failpoint.BEFORE_RETURN,
        "drop_fields",
    )


def test_a_computed_profile_is_no_schedule_and_no_problem(copy: Path) -> None:
    """A profile that needs a run is left open; the task can be played with the module's faults."""
    module = copy / FAULTY
    module.write_text(
        module.read_text().replace(
            "strict_no_hint_profile = {", "strict_no_hint_profile = dict() or {"
        )
    )
    found = instance(PAPER, copy)
    assert (read(copy).problems, found.controls) == ((), ())
    assert found.faulty is not None
    assert found.faulty.computed == {"strict_no_hint_profile"}
    assert "no schedule" in str(found.undecided)


def test_the_folder_names_the_hazard_where_nothing_else_does(copy: Path) -> None:
    """Without manifest and hints the folder names the hazard."""
    (copy / MANIFEST).unlink()
    change(copy / CATALOGUE, lambda _: {})
    module = copy / FAULTY
    module.write_text(module.read_text().replace("EXCEPTION_HINTS", "OTHER_HINTS"))
    found = instance(PAPER, copy)
    assert (found.hints, found.hazard) == ((), Hazard.EXECUTION)


# The first 16 hexadecimal digits of `printf 'v1|7|sequential/A/B/task_1|find|before_return|0' | sha256sum`, and so on.
@pytest.mark.parametrize(
    ("seed", "task", "tool", "failpoint", "slot", "digits"),
    [
        (7, "sequential/A/B/task_1", "find", Failpoint.BEFORE_RETURN, 0, 0x64449A2F8AAF648A),
        (7, "sequential/A/B/task_1", "find", Failpoint.BEFORE_RETURN, 1, 0xB58602A0ABA46803),
        (0, "t", "lookup", Failpoint.BEFORE_TOOL_LOGIC, 3, 0xB59AFC51FA013FCA),
    ],
)
def test_the_decision_rule(
    seed: int, task: str, tool: str, failpoint: Failpoint, slot: int, digits: int
) -> None:
    """It fires just below the share that the digest gives, and not at it; never beyond max_times."""
    share = digits / 2**64

    def at(probability: float, attempt: int = 0) -> bool:
        control = Control(
            tool=tool,
            failpoint=failpoint,
            probability=probability,
            max_times=2,
            exception="OSError",
        )
        return fires(control, seed=seed, task=task, tool=tool, slot=slot, attempt=attempt)

    assert not at(share)
    assert at(share + 1e-9)
    assert at(share + 1e-9, attempt=1)
    assert not at(share + 1e-9, attempt=2)


def test_slots_are_distinct_requests_and_attempts_their_repeats() -> None:
    """Distinct requests are slots, repeats are attempts, and max_times counts in each slot.

    The order of arguments makes no difference, a changed value does.
    """
    control = Control(
        tool=None,
        failpoint=Failpoint.BEFORE_RETURN,
        probability=1,
        max_times=1,
        drift="drop_fields",
    )
    injector = Injector(seed=0, task="t", controls=[control])
    for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 2}):
        injector.visit("find", arguments).through(lambda _: {"ok": True, "x": 1})
    injector.visit("other", {"a": 1, "b": 2}).through(lambda _: {"ok": True, "x": 1})
    assert [(each.tool, each.slot, each.attempt) for each in injector.fired] == [
        ("find", 0, 0),
        ("find", 1, 0),
        ("other", 2, 0),
    ]
    assert canonical_json({"b": "é", "a": [1]}) == '{"a":[1],"b":"é"}'


def test_failpoints_before_the_tool_bend_arguments_and_those_after_it_the_answer() -> None:
    """An exception before the tool keeps it from running; the first one ends the call."""
    ran: list[Any] = []

    def run(arguments: Any) -> Any:
        ran.append(dict(arguments))
        return {"ok": True, "pack": "A4"}

    def through(failpoint: Failpoint, **what: str) -> Any:
        control = Control(tool="find", failpoint=failpoint, probability=1, max_times=9, **what)
        return (
            Injector(seed=0, task="t", controls=[control])
            .visit("find", {"order": "P-1"})
            .through(run)
        )

    assert through(Failpoint.BEFORE_EXTERNAL_CALL, drift="rename_fields") == {
        "ok": True,
        "pack": "A4",
    }
    assert through(Failpoint.BEFORE_RETURN, drift="shape_drift") == {
        "ok": True,
        "pack": {"value": "A4"},
    }
    assert ran == [{"order_v2": "P-1"}, {"order": "P-1"}]
    with pytest.raises(TimeoutError, match="the request timed out"):
        through(Failpoint.BEFORE_TOOL_LOGIC, exception="TimeoutError")
    assert len(ran) == 2
    with pytest.raises(ConnectionError):
        through(Failpoint.BEFORE_CHECKPOINT_WRITE, exception="ConnectionError")
    assert len(ran) == 3


@pytest.mark.parametrize("mode", sorted(DRIFT_MODES - NEEDS_MEANING))
def test_a_drift_changes_the_content_and_nothing_else(mode: str) -> None:
    """One field that is not of the envelope; the value that was given stays as it is."""
    given = {"ok": True, "pack": "A4", "packs": 6}
    bent = bend(mode, given)
    assert bent != given or list(bent) != list(given)
    assert (bent["ok"], bent["packs"]) == (True, 6)
    assert given == {"ok": True, "pack": "A4", "packs": 6}
    bend(mode, "a bare text")
    assert bend(mode, {}) == {}


def test_modes_that_need_the_meaning_of_a_value_are_not_guessed(copy: Path) -> None:
    """The task cannot be played from outside, and the reason names the mode."""
    change(copy / MANIFEST, first_item(faults=[{**FAULT, "drift_mode": "semantic_unit_drift"}]))
    assert instance(PAPER, copy).undecided == "semantic_unit_drift cannot be applied from outside"


def test_check_says_what_is_there_and_runs_nothing(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Modules that leave a mark when they are imported leave none, neither with --check nor in a refused run."""
    mark = copy / "mark"
    for path in copy.rglob("*.py"):
        path.write_text(f"open({str(mark)!r}, 'w').close()\n" + path.read_text())
    assert main(["adapt", "toolbench-x", str(copy), "--check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["tasks"] == found["counts"]["playable with faults own"] == 2
    assert (found["hazards"], found["missing"]) == ({"execution": 1, "output": 1}, {})
    assert (
        main(
            [
                "adapt",
                "toolbench-x",
                str(copy),
                "--model",
                "openai:none",
                "--out",
                str(copy / "o.jsonl"),
            ]
        )
        == 1
    )
    assert "--run-foreign-code" in capsys.readouterr().err
    assert not mark.exists()
    runpy.run_path(str(copy / CLEAN))
    assert mark.exists()  # they would have


def test_check_fails_on_problems_and_names_what_is_missing(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, every problem on a line, counts of what a complete download has."""
    (copy / TASKS).write_text("{")
    (copy / CATALOGUE).unlink()
    shutil.rmtree(copy / "tools/parallel")
    assert main(["adapt", "toolbench-x", str(copy), "--check"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "exception_hints_catalog.json 1, clean module 1" in told
    assert f"problem: {TASKS}: line 1, column 2" in told
