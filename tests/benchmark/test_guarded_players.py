"""The players that put an agent behind the library: what guards change, and that without them nothing changes."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from asyncguard import GuardConfig
from asyncguard_benchmark import (
    Composition,
    Episode,
    Regime,
    Run,
    Surface,
    score,
    shipped_compositions,
    summarise,
)
from asyncguard_benchmark.harness.agents.message_reader import Standing, read_message
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent, SerialAgent
from asyncguard_benchmark.harness.agents.simulated import SimulatedAgent
from asyncguard_benchmark.harness.arms import ARMS
from asyncguard_benchmark.harness.campaign import Grid, play_all
from asyncguard_benchmark.harness.environment import Environment
from asyncguard_benchmark.harness.episode import episode_to_json
from asyncguard_benchmark.harness.players import guarded
from asyncguard_benchmark.harness.players.guarded import (
    UNGUARDED,
    Setting,
    play_graph,
    play_middleware,
)
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Kind
from asyncguard_benchmark.harness.scoring.summary import Summary
from asyncguard_benchmark.suites.asynctool.agents.eager import EagerAgent
from tests.benchmark.builders import LITE, SAMPLE, compose

SOME = SAMPLE[::6]
"""One of each kind."""
KINDS: tuple[type[SimulatedAgent], ...] = (OracleAgent, SerialAgent, EagerAgent)
PLAYERS: tuple[Callable[..., Episode], ...] = (play_graph, play_middleware)
PAIR = compose("fs-07", "tb-07")
AGENTS = st.sampled_from(KINDS)


def run_of(regime: Regime, surface: Surface, seed: int = 0) -> Run:
    """The conditions of an episode."""
    return Run(regime=regime, surface=surface, seed=seed)


RUNS = st.builds(run_of, st.sampled_from(Regime), st.sampled_from(Surface), st.integers(0, 99))


def assert_same(one: Episode, other: Episode) -> None:
    """The agent was told the same, said the same, and did the same at the same time."""
    assert one.messages == other.messages
    assert one.trajectory == other.trajectory
    assert one.counters == other.counters


def assert_all_off_is_plain(
    composition: Composition, kind: type[SimulatedAgent], run: Run, *, declared: bool = True
) -> None:
    """Both players with all guards off do what the plain one does."""
    plain = play_plain(composition, kind(plan=plan_of(composition)), run)
    for play in PLAYERS:
        setting = Setting(config=UNGUARDED, declared=declared)
        assert_same(plain, play(composition, kind(plan=plan_of(composition)), run, setting))


@settings(deadline=None, max_examples=6)
@given(st.sampled_from(LITE), AGENTS, RUNS, st.booleans())
def test_without_guards_nothing_changes(
    composition: Composition, kind: type[SimulatedAgent], run: Run, declared: bool
) -> None:
    """Message for message and call for call, declared tools or not: a sample of all conditions."""
    assert_all_off_is_plain(composition, kind, run, declared=declared)


PARTS = pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.full)])
"""A sixth of the sample for each condition, by turns, or all of it."""


@pytest.mark.slow
@PARTS
@pytest.mark.parametrize(
    ("turn", "kind", "regime", "surface"),
    [(turn, *each) for turn, each in enumerate(product(KINDS, Regime, Surface))],
)
def test_without_guards_nothing_changes_anywhere(
    turn: int, kind: type[SimulatedAgent], regime: Regime, surface: Surface, share: int
) -> None:
    """Nothing changes for any agent, regime and surface, on compositions of all categories."""
    agent = KINDS.index(kind)  # else one surface had the even compositions, the other the odd ones
    for composition in SAMPLE[(turn + agent) % share :: share]:
        assert_all_off_is_plain(composition, kind, run_of(regime, surface))


@pytest.fixture(
    params=[pytest.param(4, id="few"), pytest.param(1, id="sample", marks=pytest.mark.slow)]
)
def compositions(request: pytest.FixtureRequest) -> Sequence[Composition]:
    """Every fourth of the sample; all of it where time does not count."""
    return SAMPLE[:: request.param]


def played(
    compositions: Sequence[Composition],
    play: Callable[..., Episode],
    kind: type[SimulatedAgent],
    run: Run,
    setting: Setting | None,
) -> Summary:
    """Figures of an agent over some compositions."""
    more = {} if setting is None else {"setting": setting}
    return summarise(
        score(play(each, kind(plan=plan_of(each)), run, **more)) for each in compositions
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("surface", list(Surface))
@pytest.mark.parametrize("play", PLAYERS)
def test_guards_save_the_agent_that_guesses(
    compositions: Sequence[Composition], play: Callable[..., Episode], surface: Surface
) -> None:
    """At fixed1 the eager agent goes from at most 40 to at least 95, and no call needs a value that is not there."""
    run = run_of(Regime.FIXED1, surface)
    bare = played(compositions, play_plain, EagerAgent, run, None)
    safe = played(compositions, play, EagerAgent, run, Setting())
    assert bare.overall is not None
    assert safe.overall is not None
    assert bare.overall.value <= 40
    assert safe.overall.value >= 95
    assert safe.premature_needed == 0


@pytest.mark.parametrize("play", PLAYERS)
def test_guards_that_know_nothing_of_the_tools_save_it_too(
    compositions: Sequence[Composition], play: Callable[..., Episode]
) -> None:
    """Without footprints and scope, at the cautious defaults."""
    safe = played(
        compositions, play, EagerAgent, run_of(Regime.FIXED1, Surface.TEXT), Setting(declared=False)
    )
    assert safe.overall is not None
    assert safe.overall.value >= 95


HARMLESS = [arm.config for name, arm in ARMS.items() if name != "without-waiting"]
"""Every guard out and in. Without waiting a held call may cost a turn: that is what waiting is for."""


def assert_harmless(
    composition: Composition, run: Run, play: Callable[..., Episode], setting: Setting
) -> int:
    """The oracle solves it, in no more rounds than without guards; the rounds more (or, if negative, fewer).

    Two exceptions. ``premature`` can cost one round where a step needs nothing of the pending result. And where delays
    differ from call to call: a call that a guard held until the one it depends on had ended
    (the tick count tells) can answer by itself, where without guards both answers came together. That is one round.
    """
    plain = play_plain(composition, OracleAgent(plan=plan_of(composition)), run)
    episode = play(composition, OracleAgent(plan=plan_of(composition)), run, setting)
    assert score(episode).overall
    held = run.regime is Regime.RANDOM12 and episode.counters.ticks > plain.counters.ticks
    more = episode.counters.rounds - plain.counters.rounds
    if more > held and setting.config.premature:
        # The oracle heeds the placeholder: a step that needs nothing of what runs waits for it, too.
        others = replace(setting, config=replace(setting.config, premature=False))
        without = play(composition, OracleAgent(plan=plan_of(composition)), run, others)
        assert more == 1
        assert without.counters.rounds <= plain.counters.rounds
        return more
    assert more <= held
    assert episode.counters.format_errors == 0
    return more


@settings(deadline=None, max_examples=10)
@given(
    st.sampled_from(LITE),
    st.sampled_from(Regime),
    st.sampled_from(Surface),
    st.sampled_from(HARMLESS),
    st.booleans(),
    st.sampled_from(PLAYERS),
)
def test_no_guard_harms_an_agent_without_fault(
    composition: Composition,
    regime: Regime,
    surface: Surface,
    config: GuardConfig,
    declared: bool,
    play: Callable[..., Episode],
) -> None:
    """A sample of all arms and conditions: same score, no more rounds (but see `assert_harmless`)."""
    assert_harmless(
        composition, run_of(regime, surface), play, Setting(config=config, declared=declared)
    )


ONE_OR_ALL = [
    pytest.param(each, marks=() if each is Regime.FIXED1 else pytest.mark.full) for each in Regime
]


@pytest.mark.slow(seconds=12)
@PARTS
@pytest.mark.parametrize("regime", ONE_OR_ALL)
@pytest.mark.parametrize("play", PLAYERS)
def test_no_guard_harms_an_agent_without_fault_anywhere(
    play: Callable[..., Episode], regime: Regime, share: int
) -> None:
    """Every guard out, and in; the state machine on all categories, the middleware on one of each kind."""
    chosen = SAMPLE if play is play_graph else SOME
    step = min(share, len(chosen))
    for turn, config in enumerate(HARMLESS):
        for composition in chosen[turn % step :: step]:
            assert_harmless(composition, run_of(regime, Surface.TEXT), play, Setting(config=config))


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    "regime", [pytest.param(Regime.FIXED1, marks=pytest.mark.full), Regime.RANDOM12]
)
def test_all_guards_together_harm_nobody_in_any_composition(regime: Regime, step: int) -> None:
    """All 712 (`full`), or every fourth: the oracle solves them behind the state machine, mostly in fewer rounds."""
    more = [
        assert_harmless(composition, run_of(regime, Surface.TEXT), play_graph, Setting())
        for composition in shipped_compositions()[::step]
    ]
    assert sum(more) < 0
    assert sum(each > 0 for each in more) <= 0.03 * len(more)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("regime", list(Regime))
def test_without_waiting_a_held_call_costs_a_turn_at_most(
    compositions: Sequence[Composition], regime: Regime
) -> None:
    """The score stays, and the rounds are those of the ticks that the held call lost."""
    # Calls are held, as nothing is refused for being early.
    config = replace(ARMS["without-waiting"].config, premature=False)
    run, setting = run_of(regime, Surface.TEXT), Setting(config=config)
    for composition in compositions:
        plain = play_plain(composition, OracleAgent(plan=plan_of(composition)), run)
        episode = play_graph(composition, OracleAgent(plan=plan_of(composition)), run, setting)
        assert score(episode).overall
        assert episode.counters.rounds <= plain.counters.rounds + 1


@pytest.mark.parametrize("play", PLAYERS)
def test_waiting_spares_the_serial_agent_its_idle_turns(
    compositions: Sequence[Composition], play: Callable[..., Episode]
) -> None:
    """The runtime waits instead: fewer rounds at the same ticks."""
    run = run_of(Regime.FIXED1, Surface.TEXT)
    bare = played(compositions, play_plain, SerialAgent, run, None)
    safe = played(compositions, play, SerialAgent, run, Setting())
    assert bare.rounds is not None
    assert safe.rounds is not None
    assert safe.rounds < 0.8 * bare.rounds
    assert safe.ticks == bare.ticks
    assert safe.overall == bare.overall


class Watched(Environment):
    """Remembers the last environment that was made, for an agent that looks at the clock."""

    last: "Watched"

    def __init__(self, composition: Composition, regime: Regime, seed: int) -> None:
        super().__init__(composition, regime, seed)
        Watched.last = self


class Watcher(EagerAgent):
    """Checks at every turn that no result is shown before it is due."""

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        told = [o for m in messages if not isinstance(m, AIMessage) for o in read_message(m)]
        shown = [o.response for o in told if o.standing is Standing.ANSWERED]
        due = [r.response for r in Watched.last.trajectory if r.due <= Watched.last.tick]
        for response in shown:
            due.remove(response)  # an error unless it is due, and shown no more often than it is
        return super()._generate(messages, stop)


CONFIGS = {
    "none": UNGUARDED,
    "all": GuardConfig(),
    "without-grounding": GuardConfig(grounding=False),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("play", PLAYERS)
@pytest.mark.parametrize(
    "regime",
    [
        Regime.RANDOM12,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (Regime.FIXED2, Regime.RANDOM01)),
    ],
)
def test_no_result_is_seen_early(
    monkeypatch: pytest.MonkeyPatch,
    regime: Regime,
    play: Callable[..., Episode],
    config: GuardConfig,
) -> None:
    """Whatever the guards do, what a turn is shown is due, and is shown once."""
    monkeypatch.setattr(guarded, "Environment", Watched)
    for composition, surface in product(SOME, Surface):
        episode = play(
            composition,
            Watcher(plan=plan_of(composition)),
            run_of(regime, surface),
            Setting(config=config),
        )
        assert all(r.delivered is None or r.delivered >= r.due for r in episode.trajectory)
        assert any(r.delivered is not None for r in episode.trajectory)


class Reciter(BaseChatModel):
    """Says its lines in order, then the last one for ever."""

    lines: list[AIMessage]
    said: int = 0

    @property
    def _llm_type(self) -> str:
        return "reciter"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        line = self.lines[min(self.said, len(self.lines) - 1)]
        self.said += 1
        return ChatResult(generations=[ChatGeneration(message=line)])


IDS = st.sampled_from(["fs-07", "tb-07", "fs-99", 7])
TOOLS = st.sampled_from(
    ["diff", "touch", "set_alert", "remove_alert", "fly", "", "idle_action", "unreadable_action"]
)
VALUES = st.sampled_from(["spring.txt", "NUVO", 94.75, None, [], {"a": {"b": 1}}])
ARGUMENTS = st.dictionaries(
    st.sampled_from(["first", "second", "symbol", "price", "file", "tool"]), VALUES, max_size=3
)
TEXTS = st.one_of(
    st.builds(
        lambda i, t, a: json.dumps({"id": i, "func_name": t, "params": a}), IDS, TOOLS, ARGUMENTS
    ),
    st.sampled_from(
        [
            '{"content": "hm"}',
            '{"content": 3}',
            "hello",
            "",
            '{"id": "fs-07"}',
            "{",
            '{"content": "ALL"}',
        ]
    ),
)
DONE = '{"content": "ALL COMPLETED"}'


@settings(deadline=None, max_examples=8)
@given(st.lists(TEXTS, max_size=6), st.sampled_from(Regime))
def test_what_a_model_does_wrong_is_answered_as_in_the_plain_loop(
    texts: list[str], regime: Regime
) -> None:
    """Errors of a model on the text surface are answered alike, up to the end of a run."""
    assert_answered_alike(texts, regime)


@pytest.mark.full
@settings(deadline=None, max_examples=150)
@given(st.lists(TEXTS, max_size=6), st.sampled_from(Regime))
def test_much_that_a_model_does_wrong_is_answered_as_in_the_plain_loop(
    texts: list[str], regime: Regime
) -> None:
    """Errors of a model are answered alike in many more conversations."""
    assert_answered_alike(texts, regime)


def assert_answered_alike(texts: list[str], regime: Regime) -> None:
    """Without guards a model that says these lines is told what the plain loop tells it."""
    lines = [AIMessage(text) for text in [*texts, DONE]]
    plain = play_plain(PAIR, Reciter(lines=lines), run_of(regime, Surface.TEXT))
    for play in PLAYERS:
        assert_same(
            plain,
            play(
                PAIR, Reciter(lines=lines), run_of(regime, Surface.TEXT), Setting(config=UNGUARDED)
            ),
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "line",
    ['{"content": "one moment"}', "hello", '{"id": "fs-07", "func_name": "ls", "params": {}}'],
)
@pytest.mark.parametrize("play", PLAYERS)
def test_a_model_that_never_ends_is_cut_off_as_in_the_plain_loop(
    play: Callable[..., Episode], line: str
) -> None:
    """At the same round, with the same conversation before it; with guards it is cut off, too."""
    run = run_of(Regime.FIXED2, Surface.TEXT)
    plain = play_plain(PAIR, Reciter(lines=[AIMessage(line)]), run)
    assert plain.counters.truncated
    assert_same(plain, play(PAIR, Reciter(lines=[AIMessage(line)]), run, Setting(config=UNGUARDED)))
    guarded_episode = play(PAIR, Reciter(lines=[AIMessage(line)]), run, Setting())
    assert guarded_episode.counters.truncated
    assert guarded_episode.counters.rounds <= 30


NATIVE_ARGUMENTS = st.builds(lambda i, a: {"task_id": i, **a}, IDS, ARGUMENTS) | ARGUMENTS
CALLS = st.lists(st.tuples(TOOLS, NATIVE_ARGUMENTS), min_size=0, max_size=2)


def native(number: int, calls: list[tuple[str, dict[str, Any]]], broken: bool) -> AIMessage:
    """Return a message with calls; the last one may hold arguments that are not JSON."""
    made = [
        {"name": name, "args": args, "id": f"c{number}_{i}"} for i, (name, args) in enumerate(calls)
    ]
    invalid = [
        {"name": "diff", "args": "{", "id": f"x{number}", "error": "?", "type": "invalid_tool_call"}
    ]
    return AIMessage(
        "" if made or broken else "hm",
        tool_calls=made,
        invalid_tool_calls=invalid if broken else [],
    )


Turns = list[tuple[list[tuple[str, dict[str, Any]]], bool]]
TURNS = st.lists(st.tuples(CALLS, st.booleans()), max_size=5)


@settings(deadline=None, max_examples=8)
@given(TURNS, st.sampled_from(Regime))
def test_what_a_model_does_wrong_with_native_calls_is_answered_alike(
    turns: Turns, regime: Regime
) -> None:
    """Several calls, arguments that are not JSON, unknown tools and tasks are answered alike."""
    assert_native_calls_answered_alike(turns, regime)


@pytest.mark.full
@settings(deadline=None, max_examples=150)
@given(TURNS, st.sampled_from(Regime))
def test_much_that_a_model_does_wrong_with_native_calls_is_answered_alike(
    turns: Turns, regime: Regime
) -> None:
    """Errors of a model with native calls are answered alike in many more conversations."""
    assert_native_calls_answered_alike(turns, regime)


def assert_native_calls_answered_alike(turns: Turns, regime: Regime) -> None:
    """Without guards a model that makes these calls is told what the plain loop tells it."""
    lines = [
        *(native(n, calls, broken) for n, (calls, broken) in enumerate(turns)),
        AIMessage("ALL COMPLETED"),
    ]
    run = run_of(regime, Surface.NATIVE)
    plain = play_plain(PAIR, Reciter(lines=lines), run)
    for play in PLAYERS:
        assert_same(plain, play(PAIR, Reciter(lines=lines), run, Setting(config=UNGUARDED)))


@settings(deadline=None, max_examples=12)
@given(st.lists(TEXTS, max_size=8), st.sampled_from(PLAYERS))
def test_a_guarded_run_ends_whatever_a_model_says(
    texts: list[str], play: Callable[..., Episode]
) -> None:
    """Within the cap on rounds; nothing but calls of the composition's own tasks is made."""
    assert_it_ends(texts, play)


@pytest.mark.full
@settings(deadline=None, max_examples=250)
@given(st.lists(TEXTS, max_size=8), st.sampled_from(PLAYERS))
def test_many_guarded_runs_end(texts: list[str], play: Callable[..., Episode]) -> None:
    """Many more guarded conversations end."""
    assert_it_ends(texts, play)


def assert_it_ends(texts: list[str], play: Callable[..., Episode]) -> None:
    """A guarded run of a model that says these lines comes to its end and makes no call that it should not."""
    lines = [AIMessage(text) for text in [*texts, DONE]]
    episode = play(PAIR, Reciter(lines=lines), run_of(Regime.FIXED1, Surface.TEXT), Setting())
    assert episode.counters.rounds <= 30
    assert {record.task_id for record in episode.trajectory} <= set(PAIR.task_ids)
    assert not any(
        record.tool in ("fly", "", "idle_action", "unreadable_action")
        for record in episode.trajectory
    )


def test_several_calls_in_a_message_are_played_alike_each_time() -> None:
    """LangChain starts the calls of a message through threads; which comes first must not be a matter of luck."""
    grid = Grid(
        compositions=[each for each in LITE if each.kind is Kind.S3][:12:3],
        agents=[AgentSpec(kind="batch")],
        players=["middleware"],
        arms=["all"],
        declared=[False],
        regimes=[Regime.FIXED1],
        surfaces=[Surface.NATIVE],
    )
    cells = list(grid.cells()) * 6
    played: dict[str, set[str]] = {}
    for cell in play_all(cells, jobs=1):
        told = json.dumps(episode_to_json(cell.episode), sort_keys=True)
        played.setdefault(cell.episode.composition.id, set()).add(told)
    assert {name: len(texts) for name, texts in played.items()} == dict.fromkeys(played, 1)
