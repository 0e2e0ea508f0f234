from functools import cache
from random import Random

import pytest

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.pointers import leaves
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.harness.scenario import SubTask, Surface
from asyncguard_benchmark.harness.task_quality import problems, run_gold
from asyncguard_benchmark.learned import splits
from asyncguard_benchmark.learned.redraw import Redrawer, substituted
from asyncguard_benchmark.learned.serialisation import CALL, DONE, NOTE, RESULT, TASK, Segment
from asyncguard_benchmark.learned.substitution import Substitution
from asyncguard_benchmark.learned.traces import LATE, Traces, traced

SAMPLE = splits.training_tasks()[::16]
TRACES = Traces(seed=5)


@cache
def _segments(number: int) -> tuple[Segment, ...]:
    """Return the statements of a trace of `TRACES`, which several tests look at."""
    return TRACES.segments(number)


@pytest.fixture(scope="module")
def drawn() -> list[tuple[SubTask, SubTask]]:
    """Return tasks, each with itself drawn again."""
    redrawer = Redrawer()
    pairs = [(task, redrawer.draw(task, Random(task.id))) for task in SAMPLE]
    return [(task, found) for task, found in pairs if found is not None]


def _texts(task: SubTask) -> set[str]:
    return {
        leaf
        for call in task.gold
        for place, leaf in leaves(call.arguments)
        if isinstance(leaf, str) and call.sources.get(place) is not None
    }


def test_tasks_drawn_again_meet_the_quality_bar(drawn: list[tuple[SubTask, SubTask]]) -> None:
    """Every drawn task executes without an error, and each of its values stands where its source says."""
    assert len(drawn) >= 0.85 * len(SAMPLE)
    for _, task in drawn:
        assert problems(task, ordered=False) == ()
        assert not [text for text in run_gold(task, task.gold) if '"error"' in text[:9]]


def test_tasks_drawn_again_keep_the_plan_and_change_the_values(
    drawn: list[tuple[SubTask, SubTask]],
) -> None:
    """A drawn task has the tools of the bundled one in order, another id and question, and few of its texts."""
    kept = changed = 0
    for task, other in drawn:
        assert [call.tool for call in other.gold] == [call.tool for call in task.gold]
        assert other.id != task.id
        assert other.query != task.query
        kept += len(_texts(task) & _texts(other))
        changed += len(_texts(task) - _texts(other))
    assert changed > 2 * kept


def test_a_substitution_keeps_what_was_equal_equal() -> None:
    """A name is the same name in a question, an address, a key and a list; numbers keep their type."""
    found = Substitution(pieces={"jonas": "tavik", "820": "517"}, weeks=1)
    assert found.text("Ask Jonas (JONAS, jonas@post.example) by 2026-01-01 for 820.") == (
        "Ask Tavik (TAVIK, tavik@post.example) by 2026-01-08 for 517."
    )
    assert found.value({"jonas": [820, 820.0, True, None, "820 t"]}) == {
        "tavik": [517, 517.0, True, None, "517 t"]
    }


def test_a_draw_that_moves_another_record_into_the_meant_place_is_refused() -> None:
    """The first file by name stays the one that was meant: its name may change, and the order may not."""
    (task,) = [each for each in splits.training_tasks() if each.id == "fs-10"]
    same_order = substituted(task, Substitution(pieces={"101": "100"}))
    assert same_order is not None
    assert same_order.gold[2].arguments["source"] == "100-invoice.txt"
    assert (
        substituted(task, Substitution(pieces={"101": "204"})) is None
    )  # now 102-reminder.txt is first


def test_the_held_out_parts_are_those_that_were_written_down() -> None:
    """The digest of what is held out is the one that was committed before the first training run."""
    splits.check()
    assert splits.statement()["digest"].startswith("6f5d2003655252b9")


@pytest.mark.slow
def test_training_never_sees_what_is_held_out() -> None:
    """No trace is drawn from a held-out task, and none puts together what a bundled composition puts together."""
    unseen = {task.id for task in splits.unseen_tasks()}
    bundled = {frozenset(each.task_ids) for each in shipped_compositions()}
    assert len(unseen) == 40
    for number in range(150):
        sources = TRACES.sources(number)
        assert not unseen & {*sources}
        assert len(sources) == 1 or frozenset(sources) not in bundled


@pytest.mark.parametrize("first", [0, pytest.param(30, marks=pytest.mark.slow)])
def test_no_asynchronous_word_is_in_the_training_data(first: int) -> None:
    """A trace holds tasks, calls, their results at once, and the end: no placeholder, refusal or idle turn."""
    told = (entries.EXECUTING, entries.NO_NEWS, "was not run", "State of your tasks", "Waiting")
    for number in range(first, first + 30):
        segments = _segments(number)
        marks = [segment.marks[0] for segment in segments]
        tasks = marks.count(TASK)
        assert marks == [TASK] * tasks + [CALL, RESULT] * ((len(marks) - tasks) // 2) + [DONE]
        assert not [text for text in told for each in segments if text in each.text]


def test_a_trace_is_the_same_on_both_surfaces() -> None:
    """The model reads the same statements from native tool messages and from the text protocol."""
    composition = TRACES.composition(3)
    assert traced(composition, Surface.TEXT, 1) == traced(composition, Surface.NATIVE, 1)


def test_a_trace_depends_on_its_number_alone() -> None:
    """A fresh source of traces gives the same trace for the same seed and number, another for another seed."""
    assert Traces(seed=5).segments(7) == TRACES.segments(7)
    assert Traces(seed=6).segments(7) != TRACES.segments(7)


@pytest.mark.slow
def test_the_second_part_brings_each_task_to_its_end() -> None:
    """Most traces of the second part have several tasks; each is brought to its end in the order of the telling."""
    traces = Traces(seed=5, composed=True)
    several = 0
    for number in range(30):
        segments = traces.segments(number)
        called = [segment.marks[1] for segment in segments if segment.marks[0] == CALL]
        assert called == sorted(called)
        told = {segment.marks[1] for segment in segments if segment.marks[0] == TASK}
        assert {*called} == told
        several += len(told) > 1
    assert several > 15
    assert {traces.sources(n) for n in range(9)} != {TRACES.sources(n) for n in range(9)}


@pytest.mark.slow
def test_a_share_of_late_traces_leaves_the_others_as_they_were() -> None:
    """A late trace waits for its results and makes no call of a task whose result is out; the others are the same."""
    mixed = Traces(seed=5, late=0.3)
    late = [number for number in range(30) if mixed.regime(number) in LATE]
    assert 4 <= len(late) <= 14
    for number in range(30):
        segments = mixed.segments(number)
        if number not in late:
            assert segments == _segments(number)
            continue
        open_tasks: set[str] = set()
        for segment in segments:
            kind, *task = segment.marks
            if kind == CALL:
                assert not open_tasks & {*task}
                open_tasks |= {*task}
            elif kind == RESULT:
                open_tasks -= {*task}
        assert not open_tasks
        assert [each for each in segments if each.marks[0] == NOTE]
    with pytest.raises(BenchmarkError, match="from 0 to 1"):
        Traces(seed=5, late=1.5)
