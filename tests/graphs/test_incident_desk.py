"""The incident desk, directly and under LangGraph's development server: each fault, and what was done about it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_sdk.client import LangGraphClient

from asyncguard import GuardConfig, Timing, build_agent
from asyncguard.config import RECOVERY_NAMES
from asyncguard.observability.trace import read_trace
from tests.graphs.desk import ROOT, Server, check_next_request, effects_in, load_graphs
from tests.graphs.talking import new_thread, values_of

DESK = ROOT / "graphs" / "incident_desk.py"
HANDLED = (
    "checkout: connection pool exhausted (42 errors), p95 4200 ms: INC-1001, severity 1; "
    "ops-checkout is told (MSG-1)."
)
SLOW = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
"""Every result comes late."""
COMPARED = "The monitors of checkout say 4200 ms."

# Fault to the call that it strikes and the chain that the log tells: symptom, diagnosis, actions, outcome.
CHAINS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "notify-busy": (
        "notify#1",
        ("HTTPStatusError", "execution", "retry", "HTTPStatusError", "execution", "retry", "done"),
    ),
    "metrics-argument": (
        "query_metrics#1",
        ("ValidationError", "specification", "refresh", "rebind", "done"),
    ),
    "metrics-seconds": (
        "query_metrics#1",
        ("bounds", "output", "refresh", "bounds", "specification", "normalise", "done, marked"),
    ),
    "logs-renamed": (
        "search_logs#1",
        ("missing+unexpected", "output", "normalise", "done, marked"),
    ),
    "metrics-locked": ("query_metrics#1", ("OperationalError", "execution", "fallback", "done")),
    "metrics-stale": (
        "query_replica#1",
        ("disagreement", "conflict", "cross_check", "cross_check", "done, marked"),
    ),
    "ticket-lost": (
        "create_ticket#1",
        ("RemoteProtocolError", "execution", "verify", "verify", "done, marked"),
    ),
    "ticket-dropped": (
        "create_ticket#1",
        ("RemoteProtocolError", "execution", "verify", "retry", "done"),
    ),
    "notify-forbidden": ("notify#1", ("HTTPStatusError", "execution", "ask", "failed")),
}


@dataclass(frozen=True, kw_only=True)
class Played:
    """A run of the desk."""

    messages: Sequence[Any]
    """The conversation."""
    rows: Sequence[Mapping[str, Any]]
    """The structured log."""
    effects: Sequence[Mapping[str, Any]]
    """Effects on the world."""

    @property
    def said(self) -> str:
        """The agent's last word."""
        return str(self.messages[-1].text)

    def done(self, effect: str) -> int:
        """Return the number of effects of a kind."""
        return sum(each["effect"] == effect for each in self.effects)


def chain(rows: Sequence[Mapping[str, Any]], label: str) -> tuple[str, ...]:
    """Return a call's chain in the log: symptoms, hazards, actions and outcome."""
    told: list[str] = []
    for row in rows:
        match row["event"] if row.get("label") == label else None:
            case "call_diagnosed":
                told += ["+".join(row["symptom"]), row["hazard"]]
            case "call_recovered":
                told.append(row["action"])
            case "call_retired":
                told.append(row["outcome"] + ", marked" * row["marked"])
    return tuple(told)


class Stage:
    """A desk, and agents at it that note what they do."""

    def __init__(self, module: ModuleType, folder: Path, environment: pytest.MonkeyPatch) -> None:
        """Open the desk."""
        self._module, self._folder, self._environment = module, folder, environment
        self._effects = folder / "effects.jsonl"
        self.desk = module.IncidentDesk(effects=self._effects)

    async def play(self, name: str, goal: str, config: GuardConfig | None = None) -> Played:
        """Let an agent reach a goal; each has a log of its own."""
        trace = self._folder / f"{name}.jsonl"
        self._environment.setenv("ASYNCGUARD_DESK_TRACE", str(trace))
        agent = self._module.make_agent(config or self._module.CONFIG, self.desk)
        state = await agent.ainvoke({"messages": [("user", goal)]})
        rows = read_trace(trace).rows
        thread = rows[0]["thread"]
        effects = [each for each in effects_in(self._effects) if each["scene"].startswith(thread)]
        return Played(messages=state["messages"], rows=rows, effects=effects)


def goal_with(fault: str) -> str:
    """Return a goal with which the desk plays a fault."""
    goal = (
        "Compare the monitors of checkout"
        if fault == "metrics-stale"
        else "Handle the incident of checkout"
    )
    return f"{goal} (faults: {fault})"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A desk, closed at the end; no real model is in reach."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("ASYNCGUARD_MODEL", "ASYNCGUARD_DESK_EFFECTS", "ASYNCGUARD_DESK_TRACE"):
            environment.delenv(name, raising=False)
        made = Stage(load_graphs(DESK), tmp_path_factory.mktemp("desk"), environment)
        yield made
        made.desk.close()


@pytest.fixture(scope="module")
def played(stage: Stage) -> Mapping[str, Played]:
    """Every fault, and none, all at the same time at one desk."""

    async def play_all() -> dict[str, Played]:
        names = ("none", "metrics-stuck", *CHAINS)
        runs = await asyncio.gather(*(stage.play(name, goal_with(name)) for name in names))
        return dict(zip(names, runs, strict=True))

    return asyncio.run(play_all())


def test_a_clean_run_is_not_recovered(played: Mapping[str, Played]) -> None:
    """Four calls, one ticket, one notification; nothing is diagnosed, asked or marked."""
    run = played["none"]
    assert run.said == HANDLED
    assert not {row["event"] for row in run.rows} & {
        "call_diagnosed",
        "call_found",
        "call_recovered",
    }
    assert (run.done("ticket"), run.done("notification")) == (1, 1)


@pytest.mark.parametrize("fault", list(CHAINS))
def test_the_log_tells_symptom_diagnosis_action_and_outcome(
    fault: str, played: Mapping[str, Played]
) -> None:
    """One chain of events for the call that the fault strikes; the other calls of the run know of nothing."""
    label, expected = CHAINS[fault]
    rows = played[fault].rows
    assert chain(rows, label) == expected
    others = {row["label"] for row in rows if row["event"] == "call_retired"} - {label}
    assert {chain(rows, other) for other in others} == {("done",)}
    check_next_request(played[fault].messages)


def test_an_impossible_value_is_checked_against_the_sources(played: Mapping[str, Played]) -> None:
    """The contract is as declared; a source differs, another one agrees with it, and these two are believed."""
    told = chain(played["metrics-stuck"].rows, "query_metrics#1")
    assert told[:4] == ("bounds", "output", "refresh", "cross_check")
    assert told[4:6] == ("bounds", "conflict")
    assert set(told[6:-1]) == {"cross_check"}
    assert told[-1] == "done, marked"
    assert played["metrics-stuck"].said.startswith(HANDLED)
    assert "987654" not in played["metrics-stuck"].said


@pytest.mark.parametrize(
    "fault", [fault for fault in CHAINS if fault not in ("metrics-stale", "notify-forbidden")]
)
def test_the_incident_is_handled_as_without_the_fault(
    fault: str, played: Mapping[str, Played]
) -> None:
    """Figures, severity, ticket and notification are the same, also if answers were lost."""
    run = played[fault]
    assert run.said.startswith(HANDLED)
    assert (run.done("ticket"), run.done("notification")) == (1, 1)
    assert ("(Of " in run.said) is ("marked" in CHAINS[fault][1][-1])


def test_a_conflict_is_settled_by_a_third_source(played: Mapping[str, Played]) -> None:
    """Two monitors of three agree, and the model is told that one does not."""
    assert played["metrics-stale"].said.startswith(COMPARED)
    assert "query_metrics said something else" in played["metrics-stale"].said


def test_what_cannot_be_done_is_reported_with_its_diagnosis(played: Mapping[str, Played]) -> None:
    """The agent reports that no notification was sent, the diagnosis, and what it did before."""
    run = played["notify-forbidden"]
    assert run.said.startswith("notify failed: ")
    assert (
        "Diagnosis: execution fault (notify failed with HTTPStatusError and status 403" in run.said
    )
    assert run.said.endswith("Done before that: search_logs, query_metrics, create_ticket.")
    assert (run.done("ticket"), run.done("notification")) == (1, 0)


async def test_without_recovery_a_drifted_unit_makes_a_wrong_report(stage: Stage) -> None:
    """The fault is real: with the switches off, 4.2 s are taken for 4.2 ms and the severity is wrong."""
    off = GuardConfig().with_switches(dict.fromkeys(RECOVERY_NAMES, False))
    run = await stage.play("off", goal_with("metrics-seconds"), off)
    assert "p95 4.2 ms: INC-1001, severity 2" in run.said


async def test_a_fault_that_does_not_exist_is_named(stage: Stage) -> None:
    """An unknown fault is answered with the names of those that exist."""
    run = await stage.play("unknown", goal_with("no-such"))
    assert "There is no fault 'no-such'; there are logs-renamed, " in run.said


async def test_two_tasks_share_the_faults_of_their_thread(stage: Stage) -> None:
    """Both calls are carried over, each in its task."""
    agent = stage._module.make_agent(stage._module.CONFIG, stage.desk)
    goals = [
        "What is the latency of search? (faults: metrics-seconds)",
        "What is the latency of payments?",
    ]
    state = await agent.ainvoke({"tasks": goals})
    assert "[task-1] The p95 of search is 310 ms." in state["messages"][-1].text
    assert "[task-2] The p95 of payments is 1250 ms." in state["messages"][-1].text


async def test_a_question_after_several_tasks_is_answered(stage: Stage) -> None:
    """Tools of a thread with several tasks run in the background: the model waits for them, and the faults are gone."""
    module = stage._module
    agent = build_agent(
        module._skills.make_model(module._simulated),
        stage.desk.tools(),
        config=SLOW,
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "t"}}
    goals = [
        "What is the latency of search? (faults: metrics-seconds)",
        "Compare the monitors of payments",
    ]
    await agent.ainvoke({"tasks": goals}, thread)
    state = await agent.ainvoke(
        {"messages": [("user", "What is the latency of checkout? faults: none")]}, thread
    )
    assert "[task-1] The p95 of checkout is 4200 ms." in state["messages"][-1].text
    assert "(Of " not in state["messages"][-1].text.splitlines()[0]


def test_every_fault_is_played_and_explained(stage: Stage) -> None:
    """Those that there are, those of this file, and those in the table of the desk."""
    faults = set(stage._module._world.Fault)
    assert faults == {*CHAINS, "metrics-stuck"}
    assert all(f"| `{fault}`" in str(stage._module.__doc__) for fault in faults)


# -- under the development server ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.server
async def test_studio_sees_the_nodes_of_recovery(client: LangGraphClient, server: Server) -> None:
    """Five faults at once: the nodes that act are streamed, the incident is handled once, the trace has the chains."""
    thread = await new_thread(client)
    faults = ("logs-renamed", "metrics-argument", "metrics-seconds", "ticket-lost", "notify-busy")
    nodes: set[str] = set()
    asked = {"messages": [{"role": "user", "content": goal_with(", ".join(faults))}]}
    async for part in client.runs.stream(
        thread, "incident_desk", input=asked, stream_mode="updates"
    ):
        assert part.event != "error", part.data
        if part.event == "updates":
            nodes |= set(part.data)
    assert {"normalise", "refresh", "rebind", "verify", "retry"} <= nodes
    assert (await values_of(client, thread))["messages"][-1]["content"].startswith(HANDLED)
    rows, effects = _of_the_last_ticket(server)
    assert [each["effect"] for each in effects] == ["ticket", "notification"]
    for fault in ("logs-renamed", "ticket-lost", "notify-busy"):
        assert chain(rows, CHAINS[fault][0]) == CHAINS[fault][1]
    bound = ("ValidationError", "specification", "refresh", "rebind")
    assert chain(rows, "query_metrics#1") == (
        *bound,
        "bounds",
        "specification",
        "normalise",
        "done, marked",
    )


@pytest.mark.slow
@pytest.mark.server
async def test_each_further_node_is_reached(client: LangGraphClient) -> None:
    """The checkpoints of a thread show the node, so a person can look at the state before and after it."""
    nodes = {
        "metrics-locked": "fallback",
        "metrics-stale": "cross_check",
        "notify-forbidden": "ask",
    }

    async def passed_through(fault: str) -> set[str]:
        thread = await new_thread(client)
        asked = {"messages": [{"role": "user", "content": goal_with(fault)}]}
        await client.runs.wait(thread, "incident_desk", input=asked)
        history: Any = await client.threads.get_history(thread, limit=100)
        return {node for state in history for node in state["next"]}

    passed = await asyncio.gather(*map(passed_through, nodes))
    assert [
        node for node, found in zip(nodes.values(), passed, strict=True) if node not in found
    ] == []


def _of_the_last_ticket(server: Server) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Log and effects of the thread that opened a ticket last."""
    effects = [each for each in effects_in(server.effects) if "scene" in each]
    scene = next(each["scene"] for each in reversed(effects) if each["effect"] == "ticket")
    rows = [row for row in read_trace(server.trace).rows if scene.startswith(row["thread"])]
    return rows, [each for each in effects if each["scene"] == scene]
