"""Configuration, tool declarations, and the view of the tasks that the model is shown."""

import json
from dataclasses import replace
from typing import Any

import pytest

from asyncguard.adapters.tools.declare import guarded
from asyncguard.config import (
    FEATURE_NAMES,
    GUARD_NAMES,
    OPT_IN_NAMES,
    Delivery,
    GuardConfig,
    Limits,
    Timing,
)
from asyncguard.core import events as ev
from asyncguard.core.footprints import EffectClass
from asyncguard.core.scoreboard import task_view
from asyncguard.core.tool_spec import Fallback, Mode, Source, ToolSpec
from asyncguard.errors import CallerError, DeclarationError
from tests.core.builders import Scene, footprint


@pytest.mark.parametrize(
    "values",
    [
        {"effect": EffectClass.PURE, "writes": ("a",)},
        {"effect": EffectClass.PURE, "destructive": True},
        {"effect": EffectClass.KEYED},
        {"effect": EffectClass.PROBED},
        {"timeout": 0},
        {"timeout": -1.0},
        {"interrupts": True, "mode": Mode.BACKGROUND},
        {"interrupts": True, "mode": Mode.EXTERNAL},
    ],
)
def test_declarations_that_contradict_themselves(values: dict[str, Any]) -> None:
    """Refused when made, with the tool's name."""
    with pytest.raises(DeclarationError, match="'x'"):
        ToolSpec(name="x", **values)


def test_siblings_may_be_given_by_name() -> None:
    """``ToolSpec`` and ``@guarded`` accept names as fallbacks, sources and verifier."""
    names: dict[str, Any] = {
        "fallbacks": ["y"],
        "sources": ("y", Source(tool="z", trusted=True)),
        "verifier": "y",
    }
    spec = ToolSpec(name="x", **names)
    assert spec.fallbacks == (Fallback(tool="y"),)
    assert spec.sources == (Source(tool="y"), Source(tool="z", trusted=True))
    assert spec.verifier == Fallback(tool="y")
    with pytest.raises(DeclarationError, match="names itself"):
        ToolSpec(name="y", **names)


@pytest.mark.parametrize(
    "field", ["reads", "writes", "compared", "invariants", "fallbacks", "sources", "tasks"]
)
@pytest.mark.parametrize("given", ["abc", 7])
def test_a_list_has_to_be_a_list(field: str, given: Any) -> None:
    """A text is not taken for the list of its letters; the error says what to write."""
    values: dict[str, Any] = {field: given}
    with pytest.raises(
        DeclarationError,
        match=rf"'x': {field} must be a list, not {given!r}; write \[{given!r}\]",
    ):
        ToolSpec(name="x", **values)
    with pytest.raises(DeclarationError, match=f"The tool: {field} must be a list"):
        guarded(**values)


def test_a_wrong_name_is_answered_with_the_right_ones() -> None:
    """``@guarded`` and ``ToolSpec`` list the right names."""
    with pytest.raises(
        DeclarationError, match=r"'safe' .* one of pure, idempotent, keyed, probed, at_most_once\."
    ):
        guarded(effect="safe")
    with pytest.raises(DeclarationError, match=r"The tool is declared pure and destructive"):
        guarded(effect="pure", destructive=True)


def test_an_undeclared_tool_is_treated_with_caution() -> None:
    """At most once, unknown resources, no operands; in the foreground of one task, in the background of several."""
    spec = ToolSpec(name="x")
    assert spec.effect is EffectClass.AT_MOST_ONCE
    assert not spec.footprint({"a": 1}, "t1").known
    assert not spec.allows_references
    assert spec.foreground(several_tasks=False)
    assert not spec.foreground(several_tasks=True)


def test_a_pure_tool_writes_nothing_and_takes_operands() -> None:
    """A pure tool may leave resources out; a declaration against operands counts."""
    spec = ToolSpec(name="x", effect=EffectClass.PURE)
    assert spec.footprint({}, "t1") == footprint(None, "")
    assert spec.allows_references
    assert not ToolSpec(name="x", effect=EffectClass.PURE, references=False).allows_references


def test_footprints_know_the_task() -> None:
    """A resource may belong to a task."""
    spec = ToolSpec(name="x", reads=("cwd:{task_id}",), writes=("file:{path}",))
    assert spec.footprint({"path": "a"}, "t1") == footprint("cwd:t1", "file:a")


def test_a_fallback_renames_arguments() -> None:
    """Named arguments are renamed, others keep their names, and two names may be swapped."""
    assert Fallback(tool="y", arguments={"q": "query"}).translate({"query": 1, "n": 2}) == {
        "q": 1,
        "n": 2,
    }
    assert Fallback(tool="y", arguments={"a": "b", "b": "a"}).translate({"a": 1, "b": 2}) == {
        "a": 2,
        "b": 1,
    }
    assert Fallback(tool="y", arguments={"q": "query"}).translate({"n": 2}) == {"n": 2}


def test_every_switch_is_a_field() -> None:
    """All guards and features, each on by default and off in none."""
    for name in (*GUARD_NAMES, *FEATURE_NAMES):
        assert getattr(GuardConfig(), name) is True
        assert getattr(GuardConfig.none(), name) is False
        assert getattr(GuardConfig().with_switches({name: False}), name) is False
        assert getattr(GuardConfig.none(**{name: True}), name) is True


def test_switches_that_are_off_by_default() -> None:
    """They are off until they are switched on, and nothing tells of them before."""
    for name in OPT_IN_NAMES:
        assert getattr(GuardConfig(), name) is False
        assert getattr(GuardConfig.none(), name) is False
        assert GuardConfig().with_switches({name: True}).to_json() == {
            **GuardConfig().to_json(),
            name: True,
        }


def test_configurations_that_cannot_work() -> None:
    """Unknown switches, limits below one and negative times are refused."""
    with pytest.raises(CallerError, match="grounded"):
        GuardConfig().with_switches({"grounded": False})
    with pytest.raises(CallerError, match="max_pending"):
        Limits(max_pending=0)
    with pytest.raises(CallerError, match="linger"):
        Timing(linger=-0.001)
    assert Limits(max_pending=1).max_pending == 1
    assert Timing(linger=0).linger == 0


def test_the_configuration_is_written_into_traces() -> None:
    """The configuration is plain JSON with every field."""
    data = json.loads(json.dumps(GuardConfig().to_json()))
    assert data["grounding"] is True
    assert data["limits"]["max_pending"] == 64
    assert data["delivery"] == "all"


def test_the_view_of_the_tasks() -> None:
    """One line a task: what it waits for, how far it is, that it was not begun or has ended; no payloads."""
    scene = Scene(ToolSpec(name="x"), tasks=("t1", "t2", "t3", "t4"))
    first = scene.start("x", {"secret": "s3cr3t"})
    scene.defer("x", (first,), {"n": 2})
    scene.finished("x", task="t2")
    scene.stop_task("t4")
    lines = task_view(scene.board).splitlines()[1:]
    assert lines == [
        "- t1: waiting for x#1 (running), x#2 (held back until its turn; do not repeat it)",
        "- t2: 1 call answered; continue, or leave it if it is finished",
        '- t3: not started (if it needs no tool, say "t3: no tool needed" at the end)',
        "- t4: stopped",
    ]


def test_the_view_of_a_busy_task_is_short() -> None:
    """At eight open calls all are named, of nine the rest is hinted at."""
    scene = Scene(ToolSpec(name="x"))
    for n in range(8):
        scene.start("x", {"n": n})
    assert "and more" not in task_view(scene.board)
    scene.start("x", {"n": 9})
    assert task_view(scene.board).count("x#") == 8
    assert "and more" in task_view(scene.board)


@pytest.mark.parametrize(("goal", "issued"), [("Do t1.", 1), ("Do more.", 0)])
def test_a_task_opened_again_keeps_its_calls_and_counts_those_of_its_goal(
    goal: str, issued: int
) -> None:
    """A new message opens it as it was; with another goal it has not been touched."""
    scene = Scene(ToolSpec(name="x"))
    scene.finished("x")
    scene.stop_task("t1")
    scene.apply(ev.TaskOpened, task="t1", goal=goal)
    record = scene.ledger.task("t1")
    assert (record.task.goal, record.issued) == (goal, issued)
    assert (record.last_call is not None) == bool(issued)
    assert scene.ledger.labelled("t1", "x#1") is not None
    assert scene.ledger.task_count == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: Limits(max_model_turns=float("nan")),
            "Limits.max_model_turns must be an integer, not float nan.",
        ),
        (lambda: Limits(max_pending=True), "Limits.max_pending must be an integer, not True."),
        (
            lambda: Timing(grace=float("inf")),
            "Timing.grace must be a finite number, not float inf.",
        ),
        (lambda: GuardConfig(shadow="no"), "GuardConfig.shadow must be True or False, not str."),
        (
            lambda: GuardConfig(limits={}),
            "GuardConfig.limits must be a Limits, not dict; build one with Limits(...).",
        ),
        (
            lambda: GuardConfig(delivery="some"),
            "GuardConfig.delivery must be one of 'all', 'any', not 'some'.",
        ),
        (
            lambda: GuardConfig(siblings="x" * 99),
            f"GuardConfig.siblings must be one of 'declared', 'once', 'every', not {'x' * 40!r}.",
        ),
        (
            lambda: GuardConfig().with_switches({"trust": 1}),
            "switches['trust'] must be True or False, not int 1.",
        ),
        (
            lambda: GuardConfig.none(trusty=True),
            "GuardConfig has no field 'trusty'; the fields are ",
        ),
        (
            lambda: ToolSpec(name="x", trusted_output="no"),
            "Tool 'x': trusted_output must be True or False, not str.",
        ),
        (
            lambda: ToolSpec(name="x", timeout=True),
            "Tool 'x': timeout must be a finite number, not True.",
        ),
        (
            lambda: ToolSpec(name="x", grace=-1),
            "Tool 'x': grace must be >= 0 seconds or None, not -1.",
        ),
        (
            lambda: ToolSpec(name="x", reads=["a:{id}", "a:{payer.id}"]),
            "Tool 'x': reads[1] has braces around something else than the name of an argument: "
            "'a:{payer.id}'; write 'account:{payer}'.",
        ),
        (
            lambda: ToolSpec(name="x", writes=["a:{id"]),
            "Tool 'x': writes[0] has braces around something else than the name of an argument: "
            "'a:{id'; write 'account:{payer}'.",
        ),
        (lambda: ToolSpec(name="x", reads=[5]), "Tool 'x': reads[0] must be a text, not int 5."),
        (lambda: ToolSpec(name="x", tasks=[["a"]]), "Tool 'x': tasks[0] must be a text, not list."),
        (
            lambda: ToolSpec(name="x", fallbacks=[5]),
            "Tool 'x': fallbacks[0] must be a Fallback, not int 5.",
        ),
        (
            lambda: ToolSpec(name="x", compared=["/a", "price"]),
            "Tool 'x': compared[1] must be a JSON pointer, not 'price'; write '/price'.",
        ),
        (
            lambda: ToolSpec(name="x", dated="a/b"),
            "Tool 'x': dated must be a JSON pointer, not 'a/b'; write '/a/b'.",
        ),
        (
            lambda: ToolSpec(name="x", dated="/a~2"),
            "Tool 'x': dated must be a JSON pointer, not '/a~2'; write '/a~02'.",
        ),
        (lambda: Source(tool="x", trusted="yes"), "Source.trusted must be True or False, not str."),
        (
            lambda: Fallback(tool="x", arguments=["a"]),
            "Fallback.arguments must be a mapping, not list.",
        ),
        (lambda: guarded(efect="pure"), "guarded has no keyword 'efect'; it takes effect, reads, "),
        (lambda: guarded()(len), "cannot carry a declaration; wrap it in a function"),
    ],
)
def test_values_of_other_types_are_refused(make: Any, said: str) -> None:
    """The message says what is wrong, where, and what to write; nothing is taken for something else."""
    with pytest.raises(CallerError) as refused:
        make()
    assert said in str(refused.value)


def test_an_enum_of_the_configuration_may_be_given_by_name() -> None:
    """An enum's name is accepted, and the member is kept."""
    assert GuardConfig(delivery="any").delivery is Delivery.ANY  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("effect", "replayable"),
    [
        (EffectClass.PURE, True),
        (EffectClass.IDEMPOTENT, True),
        (EffectClass.KEYED, True),
        (EffectClass.PROBED, False),
        (EffectClass.AT_MOST_ONCE, False),
    ],
)
def test_a_lost_call_is_made_again_only_where_that_does_no_harm(
    effect: EffectClass, replayable: bool
) -> None:
    """Its effect class says so, unless the tool asks a person and runs again by design."""
    spec = ToolSpec(name="t", effect=effect, key_argument="k", probe="p")
    assert spec.replayable is replayable
    assert replace(spec, interrupts=True).replayable
