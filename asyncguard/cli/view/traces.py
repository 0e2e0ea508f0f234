"""Content of a trace: one group for each run, whose columns are the model's turns."""

from collections.abc import Callable, Mapping
from typing import Any

from asyncguard.cli.view.story import NOT_IN_FILE, Content, Group, Item, arguments_of, shown
from asyncguard.observability.trace import Row, Trace, asked_person

_STRENGTH = (
    "rejected",
    "failed",
    "in doubt",
    "squashed",
    "cancelled",
    "recovered",
    "objected",
    "held",
    "deferred",
    "done",
    "pending",
)
"""Flags of a call; the first that it has is its status."""


def content_of_trace(trace: Trace) -> Content:
    """Return all runs of a trace.

    Payloads are shown where the file has them; where it was written without, the page says so.
    """
    runs: dict[tuple[str, str, str], _Run] = {}
    for row in trace.rows:
        key = (row["agent"], row["thread"], row["run"])
        run = runs.get(key)
        if run is None:
            shown_as = row["thread_id"] or row["thread"]
            taken = {each.group.id for each in runs.values()}
            run = runs[key] = _Run(key, shown_as, row["at"], taken)
        run.add(row)
    version = str(trace.head.get("version") or "unknown")
    return Content(
        kind="trace",
        groups=tuple(run.finished(version) for run in runs.values()),
        problems=trace.problems,
    )


class _Run:
    """One run, folded row by row."""

    def __init__(
        self, key: tuple[str, str, str], thread: str, start: float, taken: set[str]
    ) -> None:
        agent, _, run = key
        # The id of a run is unique within its thread only, where the caller chose it.
        name = run if run not in taken else "/".join(filter(None, (agent, thread, run)))
        self.group = Group(id=name, column="turn")
        self.group.facts += [("thread", thread)] + ([("agent", agent)] if agent else [])
        self.start = start
        self.end = start
        self.turn = 0
        self.calls: dict[str, Item] = {}
        self.made: dict[str, list[Item]] = {}
        """Message of the model -> its calls; the engine tells of them before it counts the turn."""
        self.closing = ""

    def add(self, row: Row) -> None:
        self.end = row["at"]
        if "key" in row:
            self._call(row)
        elif row["event"] == "calls_delivered":
            self._delivered(row)
        else:
            self._run(row)

    def finished(self, version: str) -> Group:
        group = self.group
        for item in self.calls.values():
            if not {"done", "failed", "in doubt", "rejected", "squashed", "cancelled"} & {
                *item.flags
            }:
                item.flag("pending")
            item.status = next(name for name in _STRENGTH if name in item.flags)
        counts = {name: sum(name in item.flags for item in group.items) for name in _STRENGTH}
        group.facts += [("turns", str(self.turn)), ("calls", str(group.calls))]
        group.facts += [(name, str(counts[name])) for name in _STRENGTH[:-2] if counts[name]]
        group.facts += [
            ("seconds", f"{self.end - self.start:.3f}"),
            ("ended", self.closing or "not in the file"),
            ("asyncguard", version),
        ]
        return group

    def _time(self, row: Row) -> str:
        return f"{row['at'] - self.start:.3f} s"

    def _call(self, row: Row) -> None:
        item = self.calls.get(row["key"])
        if item is None:
            item = self._begun(row)
        describe = _CALL.get(row["event"])
        if describe is not None:
            what, flags = describe(row)
            for flag in flags:
                item.flag(flag)
            why = "" if asked_person(row) else _why(row)
            item.steps.append((self._time(row), what, why))
        if row["event"] in ("call_retired", "call_found") and "content" in row:
            heading = "Result" if row["event"] == "call_retired" else f"Answer of {row['source']}"
            if row["content"] is not None:
                item.sections.append((heading, shown(row["content"])))
        if row["event"] == "call_rejected":
            item.line = f"{row['guard']}: {row.get('reason') or 'reason ' + NOT_IN_FILE}"
            item.end = self.turn

    def _begun(self, row: Row) -> Item:
        item = Item(kind="call", column=self.turn, task=row["task"], name=row["label"])
        self.group.tasks.setdefault(row["task"], "")
        if row["event"] != "call_proposed":
            item.line = "proposed in an earlier run of the thread"
        elif "arguments" not in row:
            item.sections.append(("Arguments", NOT_IN_FILE))
        else:
            item.sections.append(("Arguments", shown(row["arguments"])))
            if isinstance(row["arguments"], Mapping):
                item.line = arguments_of(row["arguments"])
        if "message_id" in row:
            self.made.setdefault(row["message_id"], []).append(item)
        for name in ("reads", "writes"):
            if row.get(name):
                item.sections.append((name.capitalize(), shown(row[name])))
        self.calls[row["key"]] = item
        self.group.items.append(item)
        return item

    def _delivered(self, row: Row) -> None:
        for names, what in (
            ("delivered", "delivered to the model"),
            ("placeholders", "shown to the model as pending"),
        ):
            for key in row[names]:
                item = self.calls.get(key)
                if item is not None:
                    item.steps.append((self._time(row), what, ""))
                    # The model reads it in its next message.
                    item.end = self.turn if names == "delivered" else item.end

    def _run(self, row: Row) -> None:
        kind = row["event"]
        if kind == "task_opened":
            self.group.tasks[row["task"]] = shown(row["goal"]) if "goal" in row else ""
        if kind == "turn_taken":
            self.turn = row["turn"]
        if kind == "run_ended":
            self.closing = row["end"]
        told = _RUN.get(kind)
        if told is None:
            return
        item = Item(kind="run", column=self.turn, task=row.get("task", ""), name=told(row))
        item.steps.append((self._time(row), item.name, _why(row)))
        item.line = _why(row)
        if kind == "completion_judged" and row["verdict"] != "end":
            item.status = {"wait": "waited", "nudge": "nudged"}[row["verdict"]]
            item.flag(item.status)
        own = self.made.get(row["message_id"], []) if kind == "turn_taken" else []
        for call in own:
            call.end = self.turn if call.end == call.column else call.end
            call.column = self.turn
        items = self.group.items
        place = next((n for n, each in enumerate(items) if own and each is own[0]), len(items))
        items.insert(place, item)


def _why(row: Row) -> str:
    parts = []
    reason = row.get("reason")
    if reason:
        parts.append(shown(reason))
    for name, heading in (
        ("on_calls", "waits for"),
        ("tasks", "unfinished"),
        ("passed_over", "passed over"),
        ("open_calls", "open"),
        ("error", "error"),
        ("mark", "note to the model"),
        ("evidence", "evidence"),
        ("changes", "changes"),
    ):
        value = row.get(name)
        if value:
            said = ", ".join(map(str, value)) if isinstance(value, list) else shown(value)
            parts.append(f"{heading}: {said}")
    if "sent" in row and row["sent"] is not None:
        parts.append(f"sent: {shown(row['sent'])}")
    return "; ".join(parts)


def _retired(row: Row) -> tuple[str, tuple[str, ...]]:
    outcome = row["outcome"].replace("_", " ")
    seconds = "" if row["seconds"] is None else f" after {row['seconds']:.3f} s"
    doubt = ", content may be wrong" if row["doubtful"] else ""
    return f"ended: {outcome}{seconds}{doubt}", (outcome,)


def _admitted(row: Row) -> tuple[str, tuple[str, ...]]:
    more = [("released", "released"), ("approved", "by a person"), ("substituted", "operands set")]
    said = ", ".join(["admitted", *(text for name, text in more if row[name])])
    return said, ()


def _recovered(row: Row) -> tuple[str, tuple[str, ...]]:
    if asked_person(row):
        return f"attempt {row['attempt']} asked a person", ()
    following = f", next attempt by {row['next_tool']}" if row["next_tool"] else ""
    said = f"recovery after attempt {row['attempt']}: {row['action']}{following}"
    return said, ("recovered",)


def _deferred(row: Row) -> tuple[str, tuple[str, ...]]:
    return f"deferred by {', '.join([row['guard'], *row['also']])}", ("deferred",)


def _objected(row: Row) -> tuple[str, tuple[str, ...]]:
    return f"{row['guard']} would have said {row['objection']}", ("objected",)


def _diagnosed(row: Row) -> tuple[str, tuple[str, ...]]:
    said = f"attempt {row['attempt']} diagnosed: {row['hazard']} of {row['suspect']}"
    return f"{said} by rule {row['rule']}", ()


_CALL: Mapping[str, Callable[[Row], tuple[str, tuple[str, ...]]]] = {
    "call_proposed": lambda row: ("proposed", ()),
    "call_edited": lambda row: ("replaced by a reviewer", ()),
    "call_objected": _objected,
    "call_admitted": _admitted,
    "call_deferred": _deferred,
    "call_held": lambda row: (f"held by {row['guard']} for a person", ("held",)),
    "call_rejected": lambda row: (f"rejected by {row['guard']}", ("rejected",)),
    "call_started": lambda row: (f"attempt {row['attempt']} started: {row['tool']}", ()),
    "call_retired": _retired,
    "call_found": lambda row: (f"{row['aim']} from {row['source']}", ()),
    "call_diagnosed": _diagnosed,
    "call_recovered": _recovered,
    "call_squashed": lambda row: ("squashed: it is never issued", ("squashed",)),
    "call_cancelled": lambda row: ("cancelled before it began", ("cancelled",)),
}
"""What an event says of its call, and the flags that it adds."""

_RUN: Mapping[str, Callable[[Row], Any]] = {
    "task_opened": lambda row: f"task {row['task']} opened",
    "task_ended": lambda row: f"task {row['task']} {row['task_state']}",
    "turn_taken": lambda row: f"turn {row['turn']}: calls in the message: {row['call_count']}",
    "completion_judged": lambda row: f"completion: {row['verdict']}",
    "circuit_moved": lambda row: f"circuit of {row['circuit_tool']}: {row['circuit']}",
    "run_parked": lambda row: "parked: only external calls are open",
    "run_ended": lambda row: f"run ended: {row['end']}",
}
"""What an event says of its run."""
