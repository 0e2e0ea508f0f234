import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from asyncguard.core import events as ev
from asyncguard.observability.observer import ObserverSet
from asyncguard.observability.timeline import history
from asyncguard.observability.timeline.draw import render_timeline
from asyncguard.observability.timeline.history import Phase, histories
from asyncguard.observability.trace import Trace, read_trace
from asyncguard.observability.trace_file import TraceFile
from tests.observability.story import Story, questions, trip, trip_trace

GOLDEN = """\
run r1 · thread t1
seconds  0.0            0.5            1.0           1.5            2.0
turns          │1                           │2             │3                │4
model    ──────┤·······················─────┤········──────┤···········──────┤■
flights        ━━━━search_flights#1━━━━▼    ✗ pay#1        ┊                 ┊
               ░░░░░░░░░░░░░░░░░░░░░░░░━━━━━━━━book_flight#1━━━━━━━━···▼     ┊
hotel          ━━━━━━━━━━━━↻-----━find_rooms#1━!·····▼     ┊                 ┊
               ┊                            ┊   ask_desk#1 ━━━⇢--━━━━━━?▼    ┊
               ┊                            ┊  hold_room#1 ░░░░░░░░░░░░⊘     ┊
│n model turn   ─ model at work
· waiting (model: for news, result: for delivery)   ━ running   ░ deferred
- queued or backing off   ▼ delivered   ✗ rejected   ⊘ squashed   ↻ retry
⇢ fallback   ! failed   ? in doubt   ■ end
4 turns · 6 calls · 1 rejected · 2 deferred · 1 retried · 1 fallback
1 squashed · 2.30 s engine · 2.30 s wall · makespan 2.10 s · ended: complete
"""

# Short, long, and of double width.
TASKS = ("a", "long_task_name_" * 2, "订")


def traced(folder: Path, tell: Callable[[Story], object]) -> Trace:
    """The trace of a story, by way of a file."""
    story = Story()
    with TraceFile(folder / "x.jsonl", wall=story.wall) as file:
        file.write_head()
        story.observers = ObserverSet([file])
        tell(story)
    return read_trace(folder / "x.jsonl")


def widest(text: str) -> int:
    """Cells of the longest line."""
    return max(cell_len(line) for line in text.splitlines())


def test_a_small_run_is_drawn_exactly_so(tmp_path: Path) -> None:
    """Bars, marks, labels, legend and totals of a run with every kind of intervention."""
    assert render_timeline(trip_trace(tmp_path), width=80) == GOLDEN


def test_colour_changes_nothing_but_colour(tmp_path: Path) -> None:
    """Without its escape sequences the coloured picture is the plain one."""
    trace = trip_trace(tmp_path)
    colored = render_timeline(trace, width=80, color=True)
    assert "\x1b[" in colored
    plain = "".join(
        part.partition("m")[2] if position else part
        for position, part in enumerate(colored.split("\x1b["))
    )
    assert plain == render_timeline(trace, width=80)


def test_the_picture_does_not_depend_on_the_clocks_zero(tmp_path: Path) -> None:
    """Engine time counts from the start of the run."""
    story = Story(start=123456.0)
    with TraceFile(tmp_path / "x", wall=story.wall) as file:
        story.observers = ObserverSet([file])
        trip(story)
    assert render_timeline(read_trace(tmp_path / "x"), width=80) == GOLDEN


def test_totals_count_calls_not_events(tmp_path: Path) -> None:
    """A call that is deferred twice counts once; makespan ends with the last retirement."""

    def tell(story: Story) -> None:
        story.begin(trip="go")
        first, second = story.at(1).turn(("trip", "a"), ("trip", "b"))
        story.start_calls(first)
        story.defer(second, first)
        story.at(2).defer(second, first)
        story.at(3).retire(first)
        story.start_calls(second)
        story.at(7).retire(second)
        story.deliver(first, second)
        story.at(9).turn()
        story.end()

    (run,) = histories(traced(tmp_path, tell))
    assert (run.totals.calls, run.totals.deferred, run.totals.turns) == (2, 1, 2)
    assert (run.totals.makespan, run.totals.engine_seconds, run.totals.wall_seconds) == (
        7.0,
        9.0,
        9.0,
    )


def busy(story: Story, calls: int = 200, tasks: int = 4) -> None:
    """Many calls at random, by a fixed seed."""
    dice = random.Random(7)
    story.begin(**{f"task{number}": "go" for number in range(tasks)})
    pending: list[str] = []
    for number in range(calls // 4):
        keys = story.at(number * 0.5).turn(
            *[(f"task{dice.randrange(tasks)}", dice.choice(["search", "book_flight"]))] * 4
        )
        for key in keys:
            if dice.random() < 0.2:
                story.reject(key)
            else:
                story.start_calls(key)
                pending.append(key)
        done, pending = pending[:3], pending[3:]
        for key in done:
            story.at(number * 0.5 + 0.3).retire(key)
        story.deliver(*done)
    story.end()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_two_hundred_calls_stay_one_screen(tmp_path: Path, width: int) -> None:
    """Lanes are capped, what was folded is counted, and no call is lost."""
    trace = traced(tmp_path, busy)
    text = render_timeline(trace, width=width)
    assert len(text.splitlines()) <= 60
    assert widest(text) <= width
    folded = sum(int(line.split()[0][1:]) for line in text.splitlines() if line.startswith("  +"))
    assert "200 calls" in text
    (run,) = histories(trace)
    drawn = sum(text.count(f"{bar.label} ") + text.count(f"{bar.label}━") for bar in run.bars)
    assert folded > 0
    assert drawn + folded >= 0.9 * len(run.bars)


def test_many_tasks_are_capped_and_counted(tmp_path: Path) -> None:
    """Forty tasks do not scroll away; the rest is named by number."""
    text = render_timeline(traced(tmp_path, lambda story: busy(story, tasks=40)), width=80)
    assert "+16 tasks with" in text
    assert "task23" in text
    assert "task24" not in text


def test_many_runs_are_capped_and_counted(tmp_path: Path) -> None:
    """A long conversation shows its last runs."""

    def tell(story: Story) -> None:
        for number in range(15):
            story.at(number).begin(f"r{number}")

    text = render_timeline(traced(tmp_path, tell))
    assert text.startswith("5 earlier runs are not drawn")
    assert [line for line in text.splitlines() if line.startswith("run ")] == [
        f"run r{number} · thread t1" for number in range(5, 15)
    ]


def test_wide_characters_keep_the_columns(tmp_path: Path) -> None:
    """Names of double width move nothing that stands to their right."""

    def tell(story: Story) -> None:
        tasks = {"订机票": "x", "hotel": "y", "cafe\u0301": "z"}
        story.begin(**tasks)
        keys = story.at(1).turn(
            ("订机票", "搜索航班"), ("hotel", "find"), ("cafe\u0301", "re\u0301serve")
        )
        story.start_calls(*keys)
        for key in keys:
            story.at(2).retire(key)
        story.deliver(*keys)
        story.at(3).turn()
        story.end()

    text = render_timeline(traced(tmp_path, tell), width=60)
    delivered = [line for line in text.splitlines() if line.endswith("┊") and "▼" in line]
    assert len(delivered) == 3
    assert len({cell_len(line[: line.index("▼")]) for line in delivered}) == 1
    assert len({cell_len(line) for line in delivered}) == 1
    assert "搜索航班#1" in text
    assert "re\u0301serve#1" in text


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Escape sequences and line breaks in names, ids and tools are shown, not obeyed."""

    def tell(story: Story) -> None:
        story.begin("r\x1b[31m", **{"a\nb": "x"})
        story.turn(("a\nb", "t\x1b]0;title\x07\r"))

    text = render_timeline(traced(tmp_path, tell))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "a\ufffdb" in text


def test_long_tool_names_keep_their_number(tmp_path: Path) -> None:
    """A label is cut in the middle."""

    def tell(story: Story) -> None:
        story.begin(main="go")
        (key,) = story.turn(("main", "a_tool_with_a_name_longer_than_any_screen_likes"))
        story.start_calls(key)
        story.at(1).end()

    assert "a_tool_with_a_name_…#1" in render_timeline(traced(tmp_path, tell))


def test_a_call_of_no_task_has_a_line(tmp_path: Path) -> None:
    """A malformed call that names no task is shown as such."""

    def tell(story: Story) -> None:
        story.begin(main="go")
        (key,) = story.turn(("", "search"))
        story.reject(key)
        assert list(story.told[-1].names.values()) == ["search#1"]

    assert "(no task) ✗ search#1" in render_timeline(traced(tmp_path, tell))


def test_a_run_without_duration_is_drawn(tmp_path: Path) -> None:
    """Under a virtual clock everything may happen at once."""

    def tell(story: Story) -> None:
        story.begin(main="go")
        one, two = story.turn(("main", "a"), ("main", "b"))
        story.start_calls(one)
        story.retire(one)
        story.deliver(one)
        story.reject(two)
        story.turn()
        story.end()

    text = render_timeline(traced(tmp_path, tell))
    assert "▼ a#1" in text
    assert "✗ b#1" in text
    assert "makespan 0.00 s" in text


def test_a_call_that_outlives_its_run_is_drawn_in_the_next(tmp_path: Path) -> None:
    """It continues at the edge of one picture and comes from the edge of the other; the pause between is not drawn."""

    def tell(story: Story) -> None:
        story.begin(main="go")
        (key,) = story.turn(("main", "mail"))
        story.start_calls(key)
        story.at(1).tell(ev.RunParked, keys=(key,))
        story.at(1000).begin("r2")
        story.at(1001).retire(key)
        story.deliver(key)
        story.at(1002).turn()
        story.end()

    first, second = render_timeline(traced(tmp_path, tell), width=80).split("\n\n")
    assert "P parked" in first
    assert next(line for line in first.splitlines() if "mail#1" in line).endswith("▸")
    bar = next(line for line in second.splitlines() if "mail#1" in line)
    assert "◂━" in bar
    assert "▼" in bar
    assert "seconds  0.0 " in second


def test_a_held_call_is_drawn_differently(tmp_path: Path) -> None:
    """Waiting for a person has its own filling."""

    def tell(story: Story) -> None:
        story.begin(main="go")
        (key,) = story.turn(("main", "wipe"))
        story.tell(ev.CallHeld, key=key, guard="trust", reason="destroys")
        story.at(1).start_calls(key)
        story.at(2).retire(key)
        story.deliver(key)

    text = render_timeline(traced(tmp_path, tell))
    assert "▒▒▒" in text
    assert "▒ held for a person" in text


def test_an_empty_trace_says_so(tmp_path: Path) -> None:
    """An empty trace is drawn as a sentence and is not an error."""
    assert render_timeline(traced(tmp_path, lambda story: None)) == "The trace holds no events.\n"


SEEDS, WIDTHS, CALLS = st.integers(0, 10**6), st.integers(1, 160), st.sampled_from([4, 20, 60])


@settings(max_examples=25)
@given(seed=SEEDS, width=WIDTHS, calls=CALLS)
def test_any_run_fits_its_width(
    tmp_path_factory: pytest.TempPathFactory, seed: int, width: int, calls: int
) -> None:
    """No line is wider than asked, and every call is drawn or counted as folded."""
    check_width(tmp_path_factory.mktemp("runs"), seed, width, calls)


@pytest.mark.full
@settings(max_examples=400)
@given(seed=SEEDS, width=WIDTHS, calls=CALLS)
def test_many_runs_fit_their_width(
    tmp_path_factory: pytest.TempPathFactory, seed: int, width: int, calls: int
) -> None:
    """Many more random runs fit their width."""
    check_width(tmp_path_factory.mktemp("runs"), seed, width, calls)


def check_width(folder: Path, seed: int, width: int, calls: int) -> None:
    """A run of random events, drawn in a width, with colours and without."""
    dice = random.Random(seed)

    def tell(story: Story) -> None:
        story.begin(**dict.fromkeys(TASKS, "go"))
        pending: list[str] = []
        for _ in range(calls):
            step(story, dice, pending)

    trace = traced(folder, tell)
    text = render_timeline(trace, width=width)
    assert widest(text) <= max(40, width)
    assert render_timeline(trace, width=width, color=True)


def step(story: Story, dice: random.Random, pending: list[str]) -> None:
    """One random thing that may happen in a run."""
    story.at(story.now - story.start + dice.choice([0.0, 0.001, 1.0, 60.0]))
    task = dice.choice(TASKS)
    (key,) = story.turn((task, dice.choice(["x", "搜索", "tool_" * 9])))
    match dice.randrange(4):
        case 0:
            story.reject(key)
        case 1 if pending:
            story.defer(key, *pending[-1:])
        case _:
            story.start_calls(key)
            pending.append(key)
    if pending and dice.random() < 0.5:
        done = pending.pop(dice.randrange(len(pending)))
        story.retire(done, dice.choice(list(ev.Outcome)))
        if dice.random() < 0.7:
            story.deliver(done)


def test_events_that_are_told_twice_do_no_harm(tmp_path: Path) -> None:
    """A run that continues from an older state tells again what the state had forgotten."""
    trace = trip_trace(tmp_path)
    twice = Trace(head=trace.head, rows=tuple(row for row in trace.rows for _ in range(2)))
    once, again = (render_timeline(item, width=80).splitlines() for item in (trace, twice))
    assert [line for line in once if "#" in line] == [line for line in again if "#" in line]


def test_the_legend_explains_what_is_drawn_and_nothing_else(tmp_path: Path) -> None:
    """A call that passes the queue at once draws no queue, so the legend does not mention it."""

    def tell(story: Story) -> None:
        story.begin(main="go")
        (key,) = story.at(0.5).turn(("main", "a"))
        story.at(0.5001).start_calls(key)
        story.at(1).end()

    text = render_timeline(traced(tmp_path, tell))
    assert "queued" not in text
    assert all(mark not in text for mark in ("░", "✗", "▼", "↻"))
    assert "━ running" in text
    assert "▸ open before or after" in text


def test_every_event_of_a_call_moves_its_bar_or_is_known_not_to() -> None:
    """A new kind of event would be left out without a word."""
    kinds = {kind.kind for kind in ev.CallEvent.__subclasses__()}
    assert kinds - history._MOVING == {"call_found", "call_diagnosed"}


def test_a_question_of_a_tool_is_a_wait_for_a_person_and_no_retry(tmp_path: Path) -> None:
    """Only the attempt that failed was retried."""
    trace = traced(tmp_path, questions)
    (run,) = histories(trace)
    (bar,) = run.bars
    assert run.totals.retried == 1
    assert [mark for _, mark in bar.marks].count(history.Mark.RETRIED) == 1
    held = [(piece.start, piece.end) for piece in bar.stretches if piece.phase is Phase.HELD]
    assert held == [(100.6, 101.0), (101.4, 101.8)]
    assert "held for a person" in render_timeline(trace, width=80)
