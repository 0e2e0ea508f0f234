"""Episodes played through Inspect: the same as without it, message for message, and what goes wrong there."""

import gc
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("inspect_ai") is None:
    if os.environ.get("ASYNCGUARD_INSPECT") == "required":
        raise ModuleNotFoundError("inspect_ai is not installed, and ASYNCGUARD_INSPECT=required")
    pytest.skip(
        "inspect_ai is not installed: pip install -e '.[dev,inspect]'", allow_module_level=True
    )

from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageTool,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.solver import Solver
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from asyncguard_benchmark import Episode, Regime, Surface
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import episode_from_json
from asyncguard_benchmark.harness.inspect_bridge.agents import ParallelAgentError
from asyncguard_benchmark.harness.inspect_bridge.conversation import Conversation
from asyncguard_benchmark.harness.inspect_bridge.messages import openai_tool, tool_info
from asyncguard_benchmark.harness.protocol.surfaces import native_tools
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.suites.asynctool.inspect_tasks import asynctool, guarded, unguarded
from tests.benchmark.builders import LITE

# Of Inspect's own: how it calls tenacity, and streams that it leaves to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated"),
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
]
FEW = LITE[::40]
IDS = [each.id for each in FEW]
TASKS = "asyncguard_benchmark/asynctool"


@pytest.fixture(scope="module", autouse=True)
def _streams_are_collected() -> Iterator[None]:
    """Those that Inspect left open warn when they are collected, which could be during another module's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def evaluated(
    tmp_path: Path,
    model: Any,
    solver: Solver | None = None,
    ids: Sequence[str] = IDS,
    **task: Any,
) -> EvalLog:
    """The log of an evaluation in this process."""
    (log,) = evaluate(
        asynctool(compositions=list(ids), **task),
        model=model,
        solver=solver,
        log_dir=str(tmp_path),
        display="none",
        fail_on_error=False,
    )
    return log


def episodes(log: EvalLog) -> list[Episode]:
    """The episodes that the solvers left in the samples, by composition."""
    samples = sorted(log.samples or [], key=lambda each: str(each.id))
    return [episode_from_json(each.store["episode"]) for each in samples]


def figures(log: EvalLog) -> dict[str, float]:
    """The figures of the log's only scorer."""
    assert log.status == "success", log.error
    assert log.results is not None
    (score,) = log.results.scores
    return {name: each.value for name, each in score.metrics.items()}


def without_inspect(
    agent: str, player: str, arm: str, ids: Sequence[str] = IDS, **condition: Any
) -> list[Episode]:
    """The episodes of the same cells as `asyncguard bench run` plays them."""
    found = Condition(agent=AgentSpec(kind=agent), player=player, arm=arm, **condition)
    chosen = sorted((each for each in LITE if each.id in ids), key=lambda each: each.id)
    return [play(Cell(composition=each, condition=found)).episode for each in chosen]


def assert_same(one: Sequence[Episode], other: Sequence[Episode]) -> None:
    """The agents were told the same, said the same, and did the same at the same time."""
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert left.composition == right.composition
        assert left.messages == right.messages
        assert left.trajectory == right.trajectory
        assert left.counters == right.counters


def test_the_command_finds_task_and_model_by_entry_point_and_the_log_shows_the_messages(
    tmp_path: Path,
) -> None:
    """`inspect eval` in a process of its own, as a user runs it; the oracle solves what it plays."""
    command = [Path(sys.executable).with_name("inspect"), "eval", TASKS]
    command += ["--model", "asyncguard/oracle", "-T", f"compositions={','.join(IDS[:2])}"]
    command += ["-T", "surface=native", "--log-dir", tmp_path, "--display", "plain"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=280)
    (path,) = tmp_path.glob("*.eval")
    log = read_eval_log(str(path))
    assert log.status == "success", done.stdout + done.stderr
    assert log.eval.task == TASKS
    assert figures(log)["overall"] == 100.0
    sample = (log.samples or [])[0]
    kinds = [type(each).__name__ for each in sample.messages]
    assert kinds[:2] == ["ChatMessageSystem", "ChatMessageUser"]
    assert sample.output.completion == "ALL COMPLETED"
    tool = next(each for each in sample.messages if isinstance(each, ChatMessageTool))
    said = [each for each in sample.messages if isinstance(each, ChatMessageAssistant)]
    assert tool.tool_call_id in [call.id for each in said for call in each.tool_calls or []]
    assert len([each for each in sample.events if each.event == "model"]) == len(said)


@pytest.mark.parametrize("surface", ["text", "native"])
@pytest.mark.parametrize("agent", ["eager", "malformed"])
@pytest.mark.parametrize(
    ("solver", "player", "arm"),
    [
        (unguarded, "plain", "none"),
        (guarded, "graph", "all"),
        (lambda: guarded(player="middleware", arm="timing"), "middleware", "timing"),
    ],
)
def test_an_episode_is_the_same_with_inspect_between_agent_and_player(
    tmp_path: Path,
    agent: str,
    solver: Callable[[], Solver],
    player: str,
    arm: str,
    surface: str,
) -> None:
    """Messages, calls and clock; broken calls and refusals among them."""
    log = evaluated(tmp_path, f"asyncguard/{agent}", solver(), IDS[:2], surface=surface)
    same = without_inspect(agent, player, arm, IDS[:2], surface=Surface(surface))
    assert_same(episodes(log), same)


def test_delays_seed_and_epoch_reach_the_episode(tmp_path: Path) -> None:
    """An epoch is a repeat with the next seed."""
    (log,) = evaluate(
        asynctool(compositions=IDS[:1], regime="random12", seed=5),
        model="asyncguard/serial",
        log_dir=str(tmp_path),
        display="none",
        epochs=2,
    )
    played = [episode_from_json(each.store["episode"]) for each in log.samples or []]
    assert sorted(each.run.seed for each in played) == [5, 6]
    for each in played:
        same = without_inspect(
            "serial", "plain", "none", IDS[:1], regime=Regime.RANDOM12, seed=each.run.seed
        )
        assert_same([each], same)


def bench_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What a command of `asyncguard bench` prints with --json."""
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def pairwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ids: Sequence[str]
) -> tuple[Any, Any]:
    """Eager agents unguarded and guarded, compared by `bench compare`: through Inspect, and played by the benchmark."""
    compared = []
    logs = {
        "none": evaluated(tmp_path, "asyncguard/eager", unguarded(), ids),
        "all": evaluated(tmp_path, "asyncguard/eager", guarded(), ids),
    }
    for arm, log in logs.items():
        bench_json(
            capsys, "inspect-logs", log.location, "--out", str(tmp_path / f"inspect-{arm}.jsonl")
        )
    for arm, player in (("none", "plain"), ("all", "graph")):
        chosen = ("--suite", "lite", "--compositions", ",".join(ids), "--players", player)
        out = str(tmp_path / f"bench-{arm}.jsonl")
        bench_json(capsys, "run", "--agents", "eager", "--arms", arm, "--out", out, *chosen)
    for name in ("inspect", "bench"):
        first, second = (str(tmp_path / f"{name}-{arm}.jsonl") for arm in ("none", "all"))
        (found,) = bench_json(capsys, "compare", first, second)["comparisons"]
        compared.append({key: found[key] for key in ("effect", "flips")})
    measured = figures(logs["none"])["overall"], figures(logs["all"])["overall"]
    assert measured[0] == pytest.approx(compared[0]["effect"]["against_value"])
    difference = compared[0]["effect"]["difference"]["value"]
    assert measured[1] - measured[0] == pytest.approx(difference)
    return compared[0], compared[1]


def test_guarded_and_unguarded_eager_agents_compare_as_the_benchmark_compares_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pair by pair: the same effect, interval, rounds and flips; each log is taken in once."""
    through, without = pairwise(tmp_path, capsys, IDS)
    assert through == without
    assert len(through["flips"]) == len(IDS)
    (path,) = tmp_path.glob("inspect-all.jsonl")
    logs = [str(each) for each in tmp_path.glob("*.eval")]
    again = bench_json(capsys, "inspect-logs", *logs, "--out", str(path))
    assert (again["known"], again["added"]) == (len(IDS), len(IDS))


# The whole of lite is for `bash .ci/inspect.sh full`: its sixth holds every kind of composition.
LITE_PARTS = pytest.mark.parametrize(
    "step", [pytest.param(6, id="sixth"), pytest.param(1, id="whole", marks=pytest.mark.full)]
)


@pytest.mark.slow
@LITE_PARTS
def test_the_oracle_solves_all_of_lite(tmp_path: Path, step: int) -> None:
    """Every composition, by the scorer of the suite."""
    ids = [each.id for each in LITE[::step]]
    found = figures(evaluated(tmp_path, "asyncguard/oracle", ids=ids))
    assert (found["overall"], found["accurate"]) == (100.0, 100.0)


@pytest.mark.slow
@LITE_PARTS
def test_the_whole_of_lite_compares_as_the_benchmark_compares_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: int
) -> None:
    """Pair by pair, unguarded and guarded."""
    ids = [each.id for each in LITE[::step]]
    through, without = pairwise(tmp_path, capsys, ids)
    assert through == without


def test_the_sixth_of_lite_has_every_kind_of_composition() -> None:
    """What CI plays through Inspect leaves no kind out."""
    assert {each.kind for each in LITE[::6]} == {each.kind for each in LITE}


def thinking(*refused: Any) -> ModelOutput:
    """An answer that does nothing, of 1,500 tokens: without counts Inspect would download a tokeniser."""
    output = ModelOutput.from_content("mockllm", "Let me think.")
    output.usage = ModelUsage(input_tokens=1000, output_tokens=500, total_tokens=1500)
    return output


def test_a_model_that_fails_spoils_its_sample_and_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the provider in the middle of a guarded episode is an error of the sample, and left out by name."""

    def answers(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
        if len(messages) > 2:
            raise ConnectionError("the model server has gone")
        return thinking()

    model = get_model("mockllm/model", custom_outputs=answers)
    log = evaluated(tmp_path, model, guarded(), IDS[:1])
    (sample,) = log.samples or []
    assert sample.error is not None
    assert "the model server has gone" in sample.error.message
    assert main(["inspect-logs", log.location, "--out", str(tmp_path / "none.jsonl")]) != 0
    told = capsys.readouterr().err
    assert f"sample {IDS[0]}, epoch 1 ended in an error" in told
    assert "no sample holds an episode" in told


def test_a_limit_of_inspect_ends_the_sample(tmp_path: Path) -> None:
    """Its limits hold inside the episode, though that runs in another thread."""
    (log,) = evaluate(
        asynctool(compositions=IDS[:1]),
        model=get_model("mockllm/model", custom_outputs=thinking),
        solver=guarded(),
        log_dir=str(tmp_path),
        display="none",
        token_limit=4000,
    )
    (sample,) = log.samples or []
    assert sample.limit is not None
    assert sample.limit.type == "token"
    assert "episode" not in sample.store


def test_what_a_model_said_is_sent_back_with_its_reasoning() -> None:
    """Some providers refuse their own messages without it."""
    conversation = Conversation({})
    opening = [SystemMessage("Rules."), HumanMessage("Tasks.")]
    first = conversation.request(opening)
    message = ChatMessageAssistant(
        content=[ContentReasoning(reasoning="hidden", signature="s"), ContentText(text="Wait.")]
    )
    usage = ModelUsage(input_tokens=3, output_tokens=2, total_tokens=9, input_tokens_cache_read=4)
    said = conversation.answered(
        ModelOutput(model="m-1", choices=[ChatCompletionChoice(message=message)], usage=usage)
    )
    assert said.text == "Wait."
    assert said.usage_metadata is not None
    assert said.usage_metadata["input_tokens"] == 7
    kept = AIMessage(id=said.id, content=said.content)
    second = conversation.request([*opening, kept, HumanMessage("News.")])
    assert second[2] is message
    assert second[:2] == first
    assert [each is other for each, other in zip(second, first, strict=False)] == [True, True]
    third = conversation.request([SystemMessage("Other rules."), opening[1], kept])
    assert third[2] is message


_DROPPED = {
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "exclusiveMinimum",
}
"""Keywords that `tool_info` says a model is not told."""


def without_dropped(schema: Any) -> Any:
    """A schema without the keywords that Inspect's form lacks."""
    if isinstance(schema, dict):
        return {key: without_dropped(each) for key, each in schema.items() if key not in _DROPPED}
    return schema


def test_a_tool_is_told_as_it_is_but_for_the_bounds_that_inspect_cannot_say() -> None:
    """Every tool of the suite; a keyword that Inspect loses has to be named in the documents."""
    for composition in LITE:
        for tool in native_tools(composition):
            told = openai_tool(tool_info(tool))
            assert told["function"]["parameters"] == without_dropped(
                tool["function"]["parameters"]
            ), tool["function"]["name"]


def test_mistakes_are_told_before_the_first_sample() -> None:
    """With the names there are, or where to find them."""
    with pytest.raises(UnknownNameError, match=r"no set 'light'; there are main, four, lite"):
        asynctool(suite="light")
    with pytest.raises(UnknownNameError, match="begins with 'X9'"):
        asynctool(compositions="X9")
    with pytest.raises(UnknownNameError, match=r"no surface 'voice'; there are text, native"):
        asynctool(surface="voice")
    with pytest.raises(UnknownNameError, match="no arm 'everything'"):
        guarded(arm="everything")
    with pytest.raises(UnknownNameError, match="no guarded player 'plain'"):
        guarded(player="plain")
    with pytest.raises(UnknownNameError, match="no agent 'clever'"):
        get_model("asyncguard/clever")
    with pytest.raises(UnknownNameError, match="eager has no haste"):
        get_model("asyncguard/eager", haste=1)
    with pytest.raises(ParallelAgentError, match="bench run --agents batch"):
        get_model("asyncguard/batch")


def test_solver_and_agent_say_where_they_belong_if_the_task_is_another(tmp_path: Path) -> None:
    """A sample without a composition, and a request without one."""
    from inspect_ai import Task
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import generate

    for model, solver, told in (
        (
            "mockllm/model",
            guarded(),
            "the sample other must be a composition of asyncguard_benchmark",
        ),
        ("asyncguard/oracle", generate(), "asked outside the tasks of asyncguard_benchmark"),
    ):
        task = Task(dataset=[Sample(id="other", input="Hello?")], solver=solver)
        (log,) = evaluate(
            task, model=model, log_dir=str(tmp_path), display="none", fail_on_error=False
        )
        (sample,) = log.samples or []
        assert sample.error is not None
        assert told in sample.error.message
