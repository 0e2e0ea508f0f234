"""Views of ``asyncguard ledger``: the table of calls, and everything about one of them."""

import io
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from asyncguard.cli.ledger.calls import Listed, moment, outcome_of
from asyncguard.core.calls import CallState
from asyncguard.core.results import Failure, Success
from asyncguard.journal.port import Attempt, AttemptState, SignalKind
from asyncguard.observability.plain import printable

_UNITS = {"d": 86_400, "h": 3600, "m": 60}
_WIDTH = 120
"""Number of columns where the output has none: in a pipe."""
_NARROW = 100


def clean(value: object) -> Text:
    """Return a value as text without markup, line ends and control characters."""
    return Text(printable(str(value)))


def age(seconds: float) -> str:
    """Return an age in the largest unit that is full: ``12s``, ``5m``, ``3h``, ``9d``."""
    left = int(max(0.0, seconds))
    return next(
        (f"{left // span}{unit}" for unit, span in _UNITS.items() if left >= span), f"{left}s"
    )


def is_narrow() -> bool:
    """Return True if a table has to save space."""
    return _console().width < _NARROW


def show(*parts: RenderableType) -> None:
    """Print to standard output in the terminal's width.

    Colours are used only on a terminal that wants them.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal whose encoding lacks a character gets a question mark instead of an error.
        sys.stdout.reconfigure(errors="replace")
    console = _console()
    for part in parts:
        console.print(part)


def _console() -> Console:
    # Not rich's own: it takes COLUMNS=0, which some shells and containers set, for a width.
    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=width)


_KEY = 8
"""Digits of a key that are shown; any beginning that fits one call identifies it."""
_STYLES = {CallState.IN_DOUBT: "bold yellow", CallState.FAILED: "red", CallState.DONE: "green"}
_SAID = {
    SignalKind.HAPPENED: "it happened",
    SignalKind.NOT_HAPPENED: "it did not happen",
    SignalKind.RETRY: "it did not happen, and is to be repeated",
    SignalKind.DELIVERY: "its result was delivered",
}
_STANDS = {
    AttemptState.INTENT: "begun, end unknown",
    AttemptState.ENDED: "ended",
    AttemptState.ASKED: "asked a person",
    AttemptState.STARTED: "work outside started, result awaited",
}


# -- the table -------------------------------------------------------------------------------------


def table(calls: Sequence[Listed], now: float, *, narrow: bool) -> Table:
    """Return the calls as a table, one per line.

    Args:
        calls: The calls.
        now: Unix time in seconds.
        narrow: True to save space.
    """
    found = Table(
        box=None, padding=(0, 1 if narrow else 2, 0, 0), pad_edge=False, header_style="bold"
    )
    # On a narrow terminal, names given by callers and models are folded; our own words are not.
    found.add_column("key", no_wrap=True)
    found.add_column("age", no_wrap=True, justify="right")
    for name in ("thread", "task", "call"):
        found.add_column(name, overflow="fold")
    for name in ("effect", "state", "try"):
        found.add_column(name, no_wrap=True)
    for call in calls:
        entry, latest = call.entry, call.latest
        # The label begins with the tool that the model called; another one may have been tried.
        label = entry.label
        if latest is not None and latest.tool != entry.tool:
            label = f"{label} by {latest.tool}"
        found.add_row(
            clean(entry.key[:_KEY]),
            age(now - entry.created_at),
            clean(entry.thread or entry.session),
            clean(entry.task),
            clean(label),
            clean(entry.effect.value),
            _state(call),
            str(latest.number if latest else 0),
        )
    return found


def _state(call: Listed) -> Text:
    word, style = call.entry.state.value, _STYLES.get(call.entry.state, "")
    if call.answer is not None:
        word = "delivered" if call.answer is SignalKind.DELIVERY else "answered"
        style = "cyan"
    elif call.in_doubt and call.running_in:
        word = "may still run"
    elif call.broken_off:
        word, style = "broken off", "magenta"
    return Text(word.replace("_", " "), style=style)


def advice(calls: Sequence[Listed]) -> Iterator[RenderableType]:
    """Yield what to do about the calls of a table.

    Args:
        calls: The calls.
    """
    running = sorted({call.running_in for call in calls if call.in_doubt and call.running_in})
    if running:
        yield clean(
            "may still run: given up, and its process lives, so the effect may still happen. Wait "
            "for its own end (a result resolves the doubt by itself), or end the process: "
            f"{', '.join(running)}. Before that it can only be resolved as --happened, "
            "or with --ended if you know that it has stopped."
        )
    if any(call.in_doubt and not call.running_in for call in calls):
        yield Text(
            "in doubt: begun, and it is not known whether it took effect. Find out, then run "
            "`asyncguard ledger resolve KEY --happened` or `--not-happened`, "
            "or `asyncguard ledger retry KEY`."
        )
    if any(call.broken_off for call in calls):
        yield Text(
            "broken off: its process is gone. Run its thread again; "
            "a call that may be repeated is repeated then."
        )
    if any(call.answer is SignalKind.DELIVERY for call in calls):
        yield Text(
            "delivered: its result waits for its thread. Run the thread again; "
            "if its run has ended, it takes the result with its next message."
        )
    if any(call.answer not in (None, SignalKind.DELIVERY) for call in calls):
        yield Text(
            "answered: its thread is notified when it continues; "
            "if its run has ended, with its next message."
        )


# -- one call --------------------------------------------------------------------------------------


def story(call: Listed, now: float, *, payload: bool) -> Group:
    """Return everything about one call.

    Args:
        call: The call.
        now: Unix time in seconds.
        payload: True to show texts of users, models and tools.
    """
    entry = call.entry
    facts: dict[str, Text] = {
        "key": clean(entry.key),
        "call": clean(entry.label),
        "task": clean(entry.task),
        "thread": clean(entry.thread or "(none)"),
        "session": clean(entry.session),
        "namespace": clean(entry.namespace or "(none)"),
        "effect": clean(entry.effect.value),
        "state": _state(call),
        "created": _time(entry.created_at, now),
        "changed": _time(entry.updated_at, now),
    }
    if entry.error:
        facts["error"] = clean(entry.error)
    if payload:
        facts["arguments"] = _json(entry.arguments)
    parts: list[RenderableType] = [_grid(facts)]
    for attempt in entry.attempts:
        signals = [item for item in entry.signals if item.attempt == attempt.number]
        parts += [
            "",
            Text(_headline(attempt), style="bold"),
            _indented(_attempt(call, attempt, now, payload)),
        ]
        for signal in signals:
            said = _SAID[signal.kind] + (f", says {signal.by}" if signal.by else "")
            shown = {"signal": clean(said)}
            if payload and signal.content is not None:
                shown["content"] = _json(signal.content)
            parts.append(_indented(_grid(shown)))
    if not payload:
        parts += ["", Text("Arguments and results are shown with --payload.", style="dim")]
    for hint in advice([call]):
        parts += ["", hint]
    return Group(*parts)


def _headline(attempt: Attempt) -> str:
    begins = len(attempt.begun_before) + 1
    return f"attempt {attempt.number}" + (f", begun {begins} times" if begins > 1 else "")


def _attempt(call: Listed, attempt: Attempt, now: float, payload: bool) -> Table:
    latest = attempt is call.latest
    place = attempt.running_in or ("gone" if call.gone and latest else "")
    facts = {
        "tool": clean(attempt.tool),
        "process": clean(attempt.process_id + (f" ({place})" if place else "")),
        "begun": _time(attempt.begun_at, now),
        "ended": _time(attempt.ended_at, now)
        if attempt.ended_at is not None
        else clean("not known"),
    }
    for number, begin in enumerate(attempt.begun_before, 1):
        # A process is replaced only once it is gone.
        facts[f"begin {number}"] = clean(
            f"by {begin.process_id} (gone), end unknown, at {_time(begin.begun_at, now)}"
        )
    if attempt.deadline is not None:
        facts["deadline"] = _time(attempt.deadline, now)
    outcome = outcome_of(attempt)
    facts["outcome"] = clean(
        f"failed: {outcome}" if isinstance(attempt.result, Failure) else outcome
    ) or clean(_STANDS[attempt.state])
    if attempt.running_in and attempt.result is not None:
        facts["runs"] = clean("perhaps: it was given up, and has not ended by itself")
    if isinstance(attempt.late, Success):
        facts["late"] = (
            _json(attempt.late.content) if payload else clean("a result came after that")
        )
    if payload and isinstance(attempt.result, Success):
        facts["result"] = _json(attempt.result.content)
    if payload and isinstance(attempt.result, Failure):
        facts["message"] = _json(attempt.result.symptom.message)
    return _grid(facts)


def _grid(facts: Mapping[str, Text]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column(style="dim", no_wrap=True, min_width=9)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(name, value)
    return grid


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2), expand=False)


def _time(seconds: float, now: float) -> Text:
    distance = f"{age(now - seconds)} ago" if seconds <= now else f"in {age(seconds - now)}"
    return clean(f"{moment(seconds)} ({distance})")


def _json(value: Any) -> Text:
    """Return a text as it is, line by line; anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return Text("\n").join([clean(line) for line in text.split("\n")])
