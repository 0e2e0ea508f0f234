"""Tables written by hand name what the code has, with the defaults that it has."""

import ast
import inspect
import re
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from asyncguard import (
    Delivery,
    EffectClass,
    GuardConfig,
    Mode,
    NewsStyle,
    ToolSpec,
    UIEvent,
    adapters,
)
from asyncguard.adapters.ui_events import VERSION
from asyncguard.config import (
    FEATURE_NAMES,
    GUARD_NAMES,
    OPT_IN_NAMES,
    RECOVERY_NAMES,
    SWITCH_NAMES,
)
from asyncguard.core.declaration import Declaration
from asyncguard.guards import GUARDS
from asyncguard.guards.completion import judge_completion
from asyncguard.recovery.symptoms import TRANSIENT_STATUSES
from asyncguard_benchmark.harness import arms
from tests.docs.markdown import code_spans, guides, read, rows

GUIDES = guides()
_EVIDENCE = {"reject": ("Reject(",), "defer": ("defer(", "Defer("), "hold": ("approval=",)}
"""Verdict to what the source of a guard holds that gives it."""


def _said_verdicts(text: str) -> set[str]:
    begins = re.findall(r"(?:^|\. )(\w+)", text.removeprefix("(off by default) "))
    return {word.lower() for word in begins} & set(_EVIDENCE)


@pytest.mark.parametrize(
    "name", [row[0].strip("`") for row in rows(read("docs/guards.md"), "guard")]
)
def test_each_guard_gives_the_verdict_that_its_text_says(name: str) -> None:
    """Its module makes the verdicts with which its sentences begin, and no other."""
    text = {row[0].strip("`"): row[1] for row in rows(read("docs/guards.md"), "guard")}[name]
    if name == "completion":
        assert text.startswith("Wait")
        assert "nudge it" in text
        source = inspect.getsource(judge_completion)
        assert "CompletionVerdict.WAIT" in source
        assert "CompletionVerdict.NUDGE" in source
        return
    source = inspect.getsource(inspect.getmodule(dict(GUARDS)[name]))  # type: ignore[arg-type]
    body = "\n".join(
        line for line in source.splitlines() if "import" not in line and "def " not in line
    )
    given = {kind for kind, marks in _EVIDENCE.items() if any(mark in body for mark in marks)}
    assert given == _said_verdicts(text)


def test_the_features_are_named() -> None:
    """Every switch is explained unless it belongs to a guard, and on by default unless it is opted in."""
    spans = code_spans(GUIDES)
    assert {*FEATURE_NAMES, *RECOVERY_NAMES, *OPT_IN_NAMES} <= set(spans)
    on = {name for name in SWITCH_NAMES if getattr(GuardConfig(), name)}
    assert on == {*SWITCH_NAMES} - {*OPT_IN_NAMES}


def test_the_decorator_takes_all_fields_but_two() -> None:
    """Name and parameters are read from the tool, as the table says."""
    assert {item.name for item in fields(ToolSpec)} - set(Declaration.__annotations__) == {
        "name",
        "parameters",
    }
    of_spec_only = [
        row[0] for row in rows(read("docs/tools.md"), "field") if "`ToolSpec`" in row[2]
    ]
    assert of_spec_only == ["`name`", "`parameters`"]


@pytest.mark.parametrize("kind", [EffectClass, Mode])
def test_every_class_of_tools_is_explained(kind: type[StrEnum]) -> None:
    """A value that may be declared is named."""
    assert {member.value for member in kind} <= set(code_spans(GUIDES))


@pytest.mark.parametrize("effect", EffectClass)
def test_the_readme_says_truly_what_may_be_repeated(effect: EffectClass) -> None:
    """The paragraph on effects puts each class on the right side."""
    paragraph = next(
        part for part in read("docs/tools.md").split("\n\n") if part.startswith("**Effects.**")
    )
    may, _ = paragraph.split("may be repeated.", 1)
    assert (f"`{effect.value}`" in may) is effect.repeatable


def test_options_of_delivery_are_named() -> None:
    """Every way of delivery and of writing news is named, and the default said truly."""
    spans = set(code_spans(GUIDES))
    assert {f"Delivery.{member.name}" for member in Delivery} <= {
        span.split("=")[-1] for span in spans
    }
    assert "`delivery=Delivery.ALL` (default)" in GUIDES
    assert GuardConfig().delivery is Delivery.ALL
    assert "news_style=NewsStyle.PAIR" in spans
    assert GuardConfig().news_style is NewsStyle.NOTIFICATION


def test_transient_statuses_are_listed() -> None:
    """The HTTP statuses after which a call is made again."""
    listed = ", ".join(map(str, sorted(TRANSIENT_STATUSES)[:-1]))
    assert f"HTTP {listed} and {max(TRANSIENT_STATUSES)}" in " ".join(GUIDES.split())


def test_the_benchmark_tells_of_every_guard() -> None:
    """Families and the number of sets are written by hand."""
    readme = read("benchmark/README.md")
    assert f"{2 ** len(GUARD_NAMES):,} sets" in readme
    for name in (*GUARD_NAMES, *OPT_IN_NAMES):
        assert re.search(rf"\b{name}\b", readme), f"benchmark/README.md lacks {name}"
        assert re.search(rf"\b{name}\b", str(arms.__doc__)), f"arms.py lacks {name}"


def test_the_ui_contract_lists_every_marker() -> None:
    """The kinds of the table are those that the library writes; the task view is sent and stored nowhere."""
    table = read("docs/ui-contract.md").partition("| `kind` |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {kind for row in rows for kind in re.findall(r"`(\w+)`", row)}
    position = {"mark": 0, "note_for_model": 1}
    written = {
        kind.value if isinstance(kind, ast.Constant) else "cancelled"  # the one that has a name
        for path in Path(adapters.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if call.func.id in position
        for kind in [call.args[position[call.func.id]]]
    }
    assert listed == written - {"view"}


@pytest.mark.parametrize("event", get_args(UIEvent), ids=lambda event: event.__name__)
def test_the_ui_contract_lists_the_fields_of_each_event(event: Any) -> None:
    """All that an event has and no others, in their order, and the version that is written now."""
    text = read("docs/ui-contract.md")
    (kind,) = get_args(get_type_hints(event)["type"])
    section = text.partition(f'### `{event.__name__}`, type `"{kind}"`\n')[2].partition("\n#")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert ["type", "version", *listed] == list(event.__annotations__)
    assert f"`version` is {VERSION} in all of them" in text
