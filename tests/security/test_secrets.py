"""Logs hold no content of users, models or tools unless enabled, and never a token or nonce."""

import asyncio
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import structlog
from langchain_core.messages import HumanMessage
from langchain_core.tools import ToolException
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import (
    CallerError,
    Details,
    EffectClass,
    Fallback,
    GuardConfig,
    Inbox,
    Mode,
    Ports,
    Timing,
    ToolFault,
    ToolSpec,
    TraceFile,
    UnknownTokenError,
    console_logger,
    log_events,
    open_journal,
)
from asyncguard.cli import main as command
from asyncguard.observability.otel import otel_spans
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.conftest import frontend
from tests.adapters.harness import Agent, Frontend, build, pure, script

__all__ = ["frontend"]

CANARIES = [f"canary-{number:02d}-{number * 7919 % 9973:04d}" for number in range(50)]
IN_NO_EVENT = {
    CANARIES[n]
    for n in (0, *range(2, 8), 9, 17, 19, 24, *range(26, 30), 40, *range(42, 46), *range(47, 50))
}
"""Secrets that appear in no event: those of observers, callers, users, models and unasked tools."""
TASKS = ("a", "b")


def leaked(text: str) -> list[str]:
    """The secrets that a text holds."""
    return [canary for canary in CANARIES if canary in text]


@dataclass(kw_only=True)
class Sinks:
    """Every place to which something is logged."""

    folder: Path
    payloads: bool
    json_lines: io.StringIO = field(default_factory=io.StringIO)
    console: io.StringIO = field(default_factory=io.StringIO)
    library: io.StringIO = field(default_factory=io.StringIO)
    spans: Any = None

    def observers(self) -> list[Any]:
        """Return all observers of asyncguard, and one that fails with a secret in its error."""
        memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        export = pytest.importorskip("opentelemetry.sdk.trace.export")
        provider = pytest.importorskip("opentelemetry.sdk.trace").TracerProvider(
            shutdown_on_exit=False
        )
        self.spans = memory.InMemorySpanExporter()
        provider.add_span_processor(export.SimpleSpanProcessor(self.spans))
        lines = structlog.wrap_logger(
            structlog.WriteLogger(self.json_lines),
            processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
        )
        return [
            log_events(lines, payloads=self.payloads),
            log_events(console_logger(self.console), payloads=self.payloads),
            TraceFile(self.folder / "trace.jsonl", payloads=self.payloads),
            otel_spans(provider.get_tracer("test")),
            _breaks,
        ]

    @property
    def text(self) -> str:
        """All that was logged."""
        spans = "\n".join(span.to_json() for span in self.spans.get_finished_spans())
        trace = (self.folder / "trace.jsonl").read_text(encoding="utf-8")
        return "\n".join(
            [
                self.json_lines.getvalue(),
                self.console.getvalue(),
                self.library.getvalue(),
                spans,
                trace,
            ]
        )


def _breaks(details: Details) -> None:
    raise ValueError(f"{CANARIES[0]}: {details.event!r}")


@pytest.fixture
def python_logs() -> Iterator[io.StringIO]:
    """All loggers of all libraries at their most talkative, with tracebacks; warnings are logged as well."""
    stream, root = io.StringIO(), logging.getLogger()
    collector, level = logging.StreamHandler(stream), root.level
    collector.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s %(args)s"))
    root.addHandler(collector)
    root.setLevel(logging.DEBUG)
    ours = logging.getLogger("asyncguard")
    ours.setLevel(logging.DEBUG)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        yield stream
        logging.captureWarnings(capture=False)
    ours.setLevel(logging.NOTSET)
    root.removeHandler(collector)
    root.setLevel(level)


class Office:
    """Tools of every kind, each of which says secrets where it can."""

    def __init__(self, journal: Path) -> None:
        self.inbox = Inbox()
        self.journal = open_journal(journal)
        self.tokens: list[str] = []

    def tools(self) -> list[Any]:
        """The tools."""
        text = {"text": str}
        refusing = scripted_tool("refuse", [ToolException(CANARIES[15])], args=text)
        refusing.handle_tool_error = True
        failure = ConnectionError(f"https://bot:{CANARIES[12]}@host/?key={CANARIES[13]}")
        failure.__cause__ = ValueError(CANARIES[5])
        busy = ToolFault(f"{CANARIES[14]} {CANARIES[8]}", transient=True)
        parameters = {
            "type": "object",
            "properties": {CANARIES[16]: {"type": "string"}},
            "required": [CANARIES[16]],
        }
        made = [
            scripted_tool(
                "read", [json.dumps({"secret": CANARIES[10], "deep": [CANARIES[11]]})], args=text
            ),
            scripted_tool("fail", [failure] * 9, args=text),
            scripted_tool("mirror", [busy] * 9, args=text),
            refusing,
            scripted_tool("echo", lambda arguments: arguments["text"], args=text),
            scripted_tool("pay", [CANARIES[17]], args=text),
            scripted_tool("wire", [[{"type": "text", "text": CANARIES[18]}]], args=text),
            scripted_tool(
                "order", self._start, args={**text, "token": (str, ""), "key": (str, "")}
            ),
            scripted_tool("send", [TimeoutError(CANARIES[20])], args=text),
            scripted_tool(
                "check", [json.dumps({"happened": True, "result": CANARIES[21]})], args=text
            ),
            scripted_tool("quote", [json.dumps({"price": CANARIES[22]})] * 9, args=text),
            scripted_tool(
                "describe",
                [json.dumps({"parameters": parameters, "returns": {}})] * 9,
                args={"tool": str},
            ),
        ]
        made[0].description = CANARIES[2]
        return made

    def _start(self, arguments: Mapping[str, Any]) -> str:
        self.tokens.append(arguments["token"])
        return CANARIES[19]

    def specs(self) -> list[ToolSpec]:
        """Their declarations."""
        number = {
            "type": "object",
            "properties": {"price": {"type": "number"}},
            "required": ["price"],
        }
        external = {"mode": Mode.EXTERNAL, "token_argument": "token", "key_argument": "key"}
        return [
            pure("read", reads=("files:{text}",)),
            pure("fail", fallbacks=(Fallback(tool="mirror"),)),
            *map(pure, ("mirror", "refuse", "echo", "check", "describe")),
            ToolSpec(name="pay", approval=True, reads=(), writes=("purse:{text}",)),
            ToolSpec(name="wire", approval=True, reads=(), writes=("wires:{text}",)),
            ToolSpec(
                name="order",
                effect=EffectClass.KEYED,
                reads=(),
                writes=("orders:{text}",),
                **external,
            ),
            ToolSpec(
                name="send",
                effect=EffectClass.PROBED,
                probe="check",
                reads=(),
                writes=("mail:{text}",),
            ),
            pure("quote", result_schema=number, contract="describe", invariants=(_no_price,)),
        ]


def _no_price(arguments: Mapping[str, Any], result: Any) -> str:
    return f"{arguments['text']} costs {result['price']}"


def _steps() -> list[Any]:
    operand = {"from_call": "read#1", "pointer": "/deep/0"}
    names = ("read", "fail", "refuse", "pay", "wire", "order", "send", "quote")
    first = [
        (name, {"task_id": TASKS[number % 2], "text": CANARIES[30 + number]})
        for number, name in enumerate(names)
    ]
    wrong = [
        ("echo", {"task_id": "a", "text": operand}),
        ("echo", {"task_id": "b", "text": {"wrong": CANARIES[38]}}),
        ("echo", {"task_id": "b", "text": CANARIES[39]}),
        ("echo", {"task_id": CANARIES[40], "text": "x"}),
        ("unheard_of", {"task_id": "b", "text": CANARIES[1]}),
        ("echo", {"task_id": "b", "text": {"from_call": "echo#9", "pointer": CANARIES[41]}}),
    ]
    return [calls(*first, *wrong, text=CANARIES[42]), f"Noted {CANARIES[43]} {CANARIES[7]}."]


def _agent(frontend: Frontend, office: Office, sinks: Sinks) -> Agent:
    return build(
        frontend,
        ScriptedChatModel(script(*_steps(), ever=f"Done {CANARIES[44]}.")),
        office.tools(),
        specs=office.specs(),
        config=GuardConfig(premature=False, timing=Timing(retry_initial=0.0, retry_jitter=0.0)),
        ports=Ports(inbox=office.inbox, observers=sinks.observers(), journal=office.journal),
        checkpointer=InMemorySaver(),
        system_prompt=f"The password is {CANARIES[45]}.",
    )


async def _work(agent: Agent, office: Office) -> dict[str, Any]:
    """A whole run: two tasks, a refusal, an approval, a delivery, and what a caller may do wrong."""
    said = " ".join(CANARIES[30:38])
    tasks = [
        {"id": name, "goal": f"{CANARIES[46]} {said} {number}"} for number, name in enumerate(TASKS)
    ]
    with pytest.raises(CallerError) as refused:
        await agent.go(agent.input([], [{**tasks[0], "more": CANARIES[48]}]), "refused")
    assert CANARIES[48] not in str(refused.value)
    given = agent.input([HumanMessage(content=CANARIES[47], name=CANARIES[9])], tasks)
    outcome = await agent.go(given, "t", metadata={"note": CANARIES[3]}, tags=[CANARIES[4]])
    delivered = False
    while outcome.interrupts:
        if outcome.interrupts[0]["type"] == "parked" and not delivered:
            office.inbox.deliver(office.tokens[0], {"answer": CANARIES[23]})
            delivered = True
        outcome = await agent.answer(_answer, "t")
    assert delivered
    return (await agent.graph.aget_state({"configurable": {"thread_id": "t"}})).values


def _answer(question: Mapping[str, Any]) -> Any:
    if question["type"] == "parked":
        return CANARIES[24]
    answers: dict[str, Any] = {CANARIES[49]: True}
    return answers | {
        call["key"]: {"approve": call["tool"] == "wire", "reason": CANARIES[25]}
        for call in question["calls"]
    }


def _mistakes(office: Office) -> str:
    """Return the error messages of a caller's mistakes."""
    told = []
    for token, content in (
        (CANARIES[26], "x"),
        (office.tokens[0], CANARIES[27]),
        (office.tokens[0], {CANARIES[28]: object()}),
        (office.tokens[0], {"x": float("nan"), "y": CANARIES[29]}),
    ):
        with pytest.raises((UnknownTokenError, CallerError)) as caught:
            office.inbox.deliver(token, content)
        told.append(f"{caught.value!r} {caught.value} {caught.value.data}")
    return "\n".join(told)


def _look_at(journal: Path, keys: list[str], payloads: bool) -> None:
    """Call every query of the journal."""
    shown = ["--payload"] if payloads else []
    for options in (
        ["list", "--all"],
        ["list", "--all", "--json"],
        ["export", *shown],
        ["export", "--format", "csv"],
    ):
        assert command(["ledger", *options, "--journal", str(journal)]) == 0
    for key in keys:
        for options in ([], ["--json"]):
            assert (
                command(["ledger", "show", key, *shown, *options, "--journal", str(journal)]) == 0
            )
    assert command(["deliver", CANARIES[26], CANARIES[27], "--journal", str(journal)]) == 1
    assert (
        command(
            [
                "ledger",
                "resolve",
                keys[0],
                "--happened",
                "--result",
                CANARIES[28],
                "--journal",
                str(journal),
            ]
        )
        == 1
    )


@pytest.mark.parametrize(
    "payloads", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["default", "payloads"]
)
def test_no_secret_is_logged_unless_it_was_asked_for(
    frontend: Frontend,
    payloads: bool,
    tmp_path: Path,
    python_logs: io.StringIO,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifty secrets in all that is said: every sink is silent about them by default, and about tokens always."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARIES[6])
    office, sinks = (
        Office(tmp_path / "effects.db"),
        Sinks(folder=tmp_path, payloads=payloads, library=python_logs),
    )
    state = asyncio.run(_work(_agent(frontend, office, sinks), office))
    mistakes = _mistakes(office)
    keys = [entry.key for entry in office.journal.entries()]
    office.journal.close()
    assert len(keys) == 3, (
        "what was held and refused has begun nothing; what is pure needs no journal"
    )
    _look_at(tmp_path / "effects.db", keys, payloads)
    for options in ([], ["--events"], ["--json"]):
        assert command(["trace", str(tmp_path / "trace.jsonl"), *options]) == 0
    captured = capfd.readouterr()
    everything = "\n".join([sinks.text, mistakes, captured.out, captured.err])
    assert {event["kind"] for event in state["ledger"]} >= {
        "call_held",
        "call_rejected",
        "call_recovered",
        "run_parked",
    }
    assert "call_retired" in everything
    assert "removed; the run continues without it" in sinks.library.getvalue()
    if payloads:
        assert set(CANARIES) - set(leaked(everything)) == IN_NO_EVENT
    else:
        assert leaked(everything) == []
    secrets = [state["asyncguard"]["nonce"], *office.tokens]
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("effects.db*") if file.is_file())
    assert CANARIES[18].encode() in stored
    assert [token for token in office.tokens if token.encode() in stored] == [], (
        "the journal keeps hashes of tokens"
    )
    assert [secret for secret in secrets if secret in everything] == []
