"""Real clients against the loopback server: what is sent, recorded, limited, and what happens when it fails."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard_benchmark import Composition, Suite, shipped_compositions
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.simulated import SimulatedAgent
from asyncguard_benchmark.harness.episode_key import EpisodeKey
from asyncguard_benchmark.harness.journal import Journal
from asyncguard_benchmark.harness.models.quota import Quota
from asyncguard_benchmark.harness.models.spec import ModelError, ModelSpec
from asyncguard_benchmark.harness.models.usage import Price, PriceError, Usage, read_prices
from asyncguard_benchmark.suites.asynctool.agents.eager import EagerAgent
from tests.support.openai_policy import Call, Failure, Message, ModelRequest, Policy, Reply, Role
from tests.support.openai_policy import Usage as Tokens
from tests.support.openai_server import OpenAIServer

COMPOSITIONS = shipped_compositions(Suite.LITE)[:3]
IDS = ",".join(each.id for each in COMPOSITIONS)
RUN = (
    "run",
    "--model",
    "openai:small",
    "--suite",
    "lite",
    "--compositions",
    IDS,
    "--jobs",
    "1",
    "--json",
    "--out",
)
Serve = Callable[[Policy], OpenAIServer]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a server to which OpenAI's environment variables point."""
    started: list[OpenAIServer] = []

    def start(policy: Policy) -> OpenAIServer:
        server = OpenAIServer(policy).__enter__()
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-logs")
        started.append(server)
        return server

    yield start
    for server in started:
        server.__exit__(None, None, None)
        assert server.refusals == ()
        assert server.errors == ()


def spoken(message: Message) -> BaseMessage:
    """A message of the wire as an agent reads it."""
    if message.role is Role.TOOL:
        return ToolMessage(message.text, tool_call_id=message.call_id or "")
    if message.role is Role.ASSISTANT:
        calls = [
            {"name": c.name, "args": json.loads(c.arguments), "id": c.id} for c in message.calls
        ]
        return AIMessage(message.text, tool_calls=calls)
    return (
        SystemMessage(message.text) if message.role is Role.SYSTEM else HumanMessage(message.text)
    )


def acting(kind: type[SimulatedAgent], tokens: Tokens | None = None) -> Policy:
    """A model that does what a simulated agent does with the messages that came over the wire."""

    def policy(request: ModelRequest) -> Reply:
        composition = told(request)
        agent: Any = kind(plan=plan_of(composition))
        if request.tools:
            functions = [
                {"name": t.name, "description": "", "parameters": t.parameters}
                for t in request.tools
            ]
            agent = agent.bind_tools([{"type": "function", "function": each} for each in functions])
        said = agent.invoke([spoken(message) for message in request.messages])
        calls = tuple(
            Call(name=c["name"], arguments=json.dumps(c["args"]), id=c["id"])
            for c in said.tool_calls
        )
        return Reply(text=str(said.text), calls=calls, usage=tokens or Tokens())

    return policy


def told(request: ModelRequest) -> Composition:
    """The composition that the first user message is about."""
    first = next(message.text for message in request.messages if message.role is Role.USER)
    return next(
        each for each in COMPOSITIONS if all(f"id:'{task}'" in first for task in each.task_ids)
    )


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """Return the JSON output of a command."""
    capsys.readouterr()
    assert main(list(argv)) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def usages(file: Path) -> list[Mapping[str, Any]]:
    """Return the usage of a file's episodes."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [line["settings"]["usage"] for line in lines if "settings" in line]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("surface", ["text", "native"])
@pytest.mark.parametrize("player", ["plain", "graph", "middleware"])
def test_a_model_plays_like_the_agent_behind_it(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], player: str, surface: str
) -> None:
    """Over the wire the oracle scores 100 with every player on both surfaces; tokens and snapshots are recorded."""
    server = serve(
        acting(
            OracleAgent,
            Tokens(input_tokens=90, cached_tokens=64, output_tokens=7, reasoning_tokens=3),
        )
    )
    file = tmp_path / "run.jsonl"
    arm = "none" if player == "plain" else "all"
    told = answer(
        capsys, *RUN, str(file), "--players", player, "--arms", arm, "--surfaces", surface
    )
    assert [row["overall"]["value"] for row in told["conditions"]] == [100.0]
    found = usages(file)
    assert sum(each["calls"] for each in found) == len(server.requests)
    first = found[0]
    assert first["input_tokens"] == 90 * first["calls"]
    assert (first["cached_tokens"], first["reasoning_tokens"]) == (
        64 * first["calls"],
        3 * first["calls"],
    )
    assert first["estimated_calls"] == 0
    assert len(first["snapshots"]) == 1
    assert "small" in first["snapshots"][0]
    assert "sk-not-for-logs" not in file.read_text(encoding="utf-8")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("player", ["plain", "graph"])
@pytest.mark.parametrize("surface", ["text", "native"])
def test_the_beginning_of_a_prompt_never_changes(
    serve: Serve, tmp_path: Path, player: str, surface: str
) -> None:
    """Each request of an episode begins with the whole of the one before it, tools included; so caches can serve it.

    Behind guards the task-state view is the last message of a request and the only one that the next request drops.
    """
    server = serve(acting(EagerAgent))
    arm = "none" if player == "plain" else "all"
    argv = (
        *RUN,
        str(tmp_path / "run.jsonl"),
        "--players",
        player,
        "--arms",
        arm,
        "--surfaces",
        surface,
    )
    assert main(list(argv)) == 0
    before: dict[str, Any] | None = None
    compared = 0
    for request in server.requests:
        body = request.body
        if before is not None and body["messages"][:2] == before["messages"][:2]:
            earlier = before["messages"]
            kept = len(earlier) if body["messages"][: len(earlier)] == earlier else len(earlier) - 1
            assert body["messages"][:kept] == earlier[:kept]
            assert kept == len(earlier) or player == "graph"
            assert body.get("tools") == before.get("tools")
            compared += 1
        before = body
    assert compared > len(COMPOSITIONS)


def test_sampling_options_reach_the_wire_and_the_name(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two runs with different sampling options are never pooled."""
    server = serve(acting(OracleAgent))
    file = tmp_path / "run.jsonl"
    options = (
        "--temperature",
        "0.2",
        "--model-option",
        "seed=7",
        "--model-option",
        "service_tier=flex",
    )
    told = answer(capsys, *RUN, str(file), "--arms", "none", *options)
    assert told["conditions"][0]["agent"] == "openai:small,seed=7,service_tier=flex,temperature=0.2"
    assert (server.requests[0].body["temperature"], server.requests[0].body["seed"]) == (0.2, 7)
    told = answer(capsys, *RUN, str(file), "--arms", "none")
    assert told["known"] == 0


def dollars_of(file: Path) -> float:
    """Return the cost of a file's models."""
    with Journal(file) as journal:
        return journal.dollars


def failures_of(file: Path) -> set[EpisodeKey]:
    """Return the episodes of a file that the infrastructure ended."""
    with Journal(file) as journal:
        return journal.failures


def test_failures_are_kept_apart_and_played_again(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An episode whose request fails counts for nothing and is named; resuming the file plays exactly that one."""
    ill = True

    def policy(request: ModelRequest) -> Reply | Failure:
        failing = ill and told(request) is COMPOSITIONS[1]
        return Failure(status=400) if failing else acting(OracleAgent)(request)  # type: ignore[return-value]

    serve(policy)
    file = tmp_path / "run.jsonl"
    assert main([*RUN, str(file), "--arms", "all"]) == 1
    said = capsys.readouterr()
    assert "the infrastructure ended 1 of 3 episodes" in said.err
    assert COMPOSITIONS[1].id in said.err
    shown = json.loads(said.out)
    assert (shown["played"], shown["failed"], shown["conditions"][0]["episodes"]) == (2, 1, 2)
    assert len(failures_of(file)) == 1
    ill = False
    again = answer(capsys, "resume", str(file), "--model", "openai:small", "--json")
    assert (again["played"], again["known"], again["failed"]) == (1, 2, 0)
    assert failures_of(file) == set()
    scored = answer(capsys, "score", str(file), "--json")
    assert scored["conditions"][0]["overall"]["value"] == 100.0
    assert scored["conditions"][0]["episodes"] == 3


def test_a_wrong_key_ends_the_run_soon(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong key ends the run before it fails every episode of the grid."""
    server = serve(lambda _: Failure(status=401))
    argv = [
        "run",
        "--model",
        "openai:small",
        "--jobs",
        "1",
        "--arms",
        "none",
        "--out",
        str(tmp_path / "run.jsonl"),
    ]
    assert main(argv) == 1
    assert "episodes in a row failed" in capsys.readouterr().err
    assert len(server.requests) == 5


def prices(folder: Path) -> str:
    """A price file: a dollar for a thousand tokens in, two for a thousand out."""
    path = folder / "prices.json"
    path.write_text(
        json.dumps({"small": {"input": 1000, "cached_input": 500, "output": 2000}}),
        encoding="utf-8",
    )
    return str(path)


def test_a_run_stops_before_it_costs_more_than_allowed(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Finished episodes are saved; the limit is the file's, so a second run spends what is left."""
    serve(acting(OracleAgent, Tokens(input_tokens=100, output_tokens=10)))
    file = tmp_path / "run.jsonl"
    argv = [*RUN, str(file), "--arms", "none", "--prices", prices(tmp_path), "--max-cost"]
    assert main([*argv, "5"]) == 1
    assert "a larger --max-cost goes on" in capsys.readouterr().err
    spent = dollars_of(file)
    assert spent <= 5
    assert main([*argv, "1000"]) == 0
    capsys.readouterr()
    found = usages(file)
    assert len(found) == 3
    for each in found:
        assert each["dollars"] == pytest.approx(each["calls"] * (100 * 1000 + 10 * 2000) / 1e6)
    assert dollars_of(file) == pytest.approx(sum(each["dollars"] for each in found))


@pytest.mark.slow
def test_a_model_is_ablated_like_an_agent(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every arm is played and none inferred; a spent budget keeps what was paid for, and a second run continues."""
    server = serve(acting(EagerAgent, Tokens(input_tokens=100, output_tokens=10)))
    two = ",".join(each.id for each in COMPOSITIONS[:2])
    what = (
        "ablate",
        "--model",
        "openai:small",
        "--suite",
        "lite",
        "--compositions",
        two,
        "--regimes",
        "fixed1",
    )
    argv = (
        *what,
        "--no-wild",
        "--resamples",
        "50",
        "--jobs",
        "2",
        "--json",
        "--prices",
        prices(tmp_path),
    )
    out = ("--out", str(tmp_path / "ablation"))
    told = answer(capsys, *argv, *out, "--dry-run")
    assert server.requests == ()
    assert told["episodes"] > 2 * 20
    assert main([*argv, *out, "--max-cost", "20"]) == 1
    assert "a larger --max-cost goes on" in capsys.readouterr().err
    asked = len(server.requests)
    assert asked > 0
    assert dollars_of(next((tmp_path / "ablation" / "episodes").glob("*.jsonl"))) <= 20
    found = answer(capsys, *argv, *out, "--max-cost", "100000")
    arms = {arm["arm"]: arm for arm in found["studies"][0]["arms"]}
    assert (arms["none"]["overall"]["value"], arms["all"]["overall"]["value"]) == (0.0, 100.0)
    assert all(arm["inferred"] == 0 and arm["errors"] == 0 for arm in arms.values())
    assert len(server.requests) > asked


def test_a_dry_run_asks_nothing(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what an agent without mistakes would use: as many requests as such an agent makes."""
    server = serve(acting(OracleAgent))
    file = tmp_path / "run.jsonl"
    told = answer(
        capsys, *RUN, str(file), "--arms", "none", "--dry-run", "--prices", prices(tmp_path)
    )
    assert server.requests == ()
    assert not file.exists()
    oracle, serial = told["estimates"]
    assert (oracle["agent"], serial["agent"]) == ("oracle", "serial")
    assert oracle["usage"]["calls"] < serial["usage"]["calls"]
    assert 0 < oracle["dollars"] < oracle["dollars_uncached"]
    answer(capsys, *RUN, str(file), "--arms", "none")
    assert len(server.requests) == oracle["usage"]["calls"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--model", "gpt-4.1"], "say provider:model"),
        (["--model", "nobody:x"], "nobody:x cannot be made"),
        (["--temperature", "0.5"], "--temperature: without --model"),
        (["--model", "openai:small", "--max-cost", "3"], "needs --prices"),
        (
            ["--model", "openai:big", "--prices", "PRICES"],
            "has no price for openai:big; it knows small",
        ),
    ],
)
def test_wrong_options_are_refused_with_what_to_do(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    said: str,
) -> None:
    """Wrong options are refused before anything is played."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    words = [prices(tmp_path) if word == "PRICES" else word for word in argv]
    assert (
        main(
            ["run", *words, "--suite", "lite", "--jobs", "1", "--out", str(tmp_path / "run.jsonl")]
        )
        == 1
    )
    assert said in capsys.readouterr().err


def test_a_replayed_run_says_what_was_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Replayed in the same loop it makes the same calls; guards see the same utterances; a mixed file is refused."""
    file, again = tmp_path / "eager.jsonl", tmp_path / "again.jsonl"
    suite = ("--suite", "lite", "--compositions", IDS, "--jobs", "1")
    assert main(["run", "--agents", "eager", "--players", "plain", *suite, "--out", str(file)]) == 0
    told = answer(
        capsys,
        "run",
        "--replay",
        str(file),
        "--players",
        "plain",
        *suite,
        "--json",
        "--out",
        str(again),
    )
    assert told["conditions"][0]["agent"] == "replay:eager"
    calls = [
        [(r["tool"], r["arguments"]) for r in each] for each in map(trajectories, (file, again))
    ]
    assert calls[0] == calls[1] != []
    guarded = ("--replay", str(file), "--players", "graph", "--arms", "all")
    told = answer(
        capsys, "run", *guarded, *suite, "--json", "--out", str(tmp_path / "guarded.jsonl")
    )
    assert told["conditions"][0]["premature_needed"] == 0
    mixed = [
        "run",
        "--agents",
        "eager",
        "--players",
        "plain",
        "--seeds",
        "1",
        *suite,
        "--out",
        str(file),
    ]
    assert main(mixed) == 0
    assert main(["run", "--replay", str(file), *suite, "--out", str(again)]) == 1
    assert "holds several episodes of" in capsys.readouterr().err


def trajectories(file: Path) -> list[dict[str, Any]]:
    """All calls of a file."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [record for line in lines for record in line.get("trajectory", ())]


def test_a_quota_spreads_requests_over_time() -> None:
    """Sixty a minute: the first minute's worth at once, then one a second; tokens settle to what was used."""
    now = 0.0
    quota = Quota(requests_per_minute=60, tokens_per_minute=1000, now=lambda: now)
    assert [quota.ask(1) for _ in range(60)] == [0.0] * 60
    assert quota.ask(1) == pytest.approx(1.0)
    assert quota.ask(1) == pytest.approx(2.0)
    now = 120.0
    assert quota.ask(1500) == pytest.approx(30.0)
    quota.settle(1500, 1000)
    assert quota.ask(0) == 0.0
    with pytest.raises(ValueError, match="more than nothing"):
        Quota(requests_per_minute=0)


def test_cached_tokens_cost_what_the_file_says() -> None:
    """They are part of the input; without a price of their own they cost what the rest does."""
    usage = Usage(calls=1, input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000)
    assert Price(input=2, output=8, cached_input=0.5).cost(usage) == pytest.approx(1.2 + 0.2 + 0.8)
    assert Price(input=2, output=8).cost(usage) == pytest.approx(2.0 + 0.8)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": 3}', '{"a": {"input": -1, "output": 2}}', '{"a": {"input": 1}}']
)
def test_a_broken_price_file_is_refused(tmp_path: Path, text: str) -> None:
    """The error shows what such a file looks like."""
    path = tmp_path / "prices.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PriceError, match="dollars for a million tokens"):
        read_prices(path)


def test_a_model_is_named_with_its_options() -> None:
    """Sorted, so that the order on a command line does not matter."""
    spec = ModelSpec(name="openai:m", options={"top_p": 0.9, "effort": "low"})
    assert spec.label == "openai:m,effort=low,top_p=0.9"
    with pytest.raises(ModelError, match="provider:model"):
        ModelSpec(name="openai:")


def test_no_thread_that_asks_a_model_sees_a_module_half_loaded() -> None:
    """OpenAI's client looks at `sys.modules["httpx"]`, which the first runtime player loads in a thread of its own."""
    code = (
        "import sys\n"
        "from asyncguard_benchmark.harness.models.play import at_once\n"
        "loaded = lambda cell: hasattr(sys.modules.get('httpx'), 'URL')\n"
        "print(*at_once([1], loaded, lambda outcome: None, 1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "True"
