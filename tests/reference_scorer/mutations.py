"""Seeded changes of saved episodes: of the calls made, of what is recorded about them, and of the ground truth.

A mutation changes the JSON of an episode in place and leaves its format valid. It returns False, and the episode as it
was, if it does not apply.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.reference_scorer import argument_mutations as arguments
from tests.reference_scorer.argument_mutations import Record, one_call
from tests.reference_scorer.corpus import Episode


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One kind of change."""

    apply: Callable[[Episode, Random], bool]
    matters: bool = True
    """False if no verdict may change by it."""


def mutate(mutation: Mutation, episode: Episode, random: Random) -> Episode | None:
    """A changed copy, read back from its text as from a file; None if the mutation does not apply."""
    changed = json.loads(json.dumps(episode))
    return json.loads(json.dumps(changed)) if mutation.apply(changed, random) else None


def _renumber(episode: Episode) -> bool:
    """Give the calls of a changed trajectory their numbers again, as the format demands."""
    present = {record["number"]: place for place, record in enumerate(episode["trajectory"])}
    for place, record in enumerate(episode["trajectory"]):
        pending = [present[number] for number in record["pending_before"] if number in present]
        record["pending_before"] = [number for number in pending if number < place]
        record["number"] = place
    return True


def drop_call(episode: Episode, random: Random) -> bool:
    """A call was not made."""
    record = one_call(episode, random)
    if record is None:
        return False
    episode["trajectory"].remove(record)
    return _renumber(episode)


def drop_task(episode: Episode, random: Random) -> bool:
    """No call was made for a sub-task."""
    task_id = random.choice(episode["composition"]["sub_tasks"])["id"]
    kept = [each for each in episode["trajectory"] if each["task_id"] != task_id]
    if len(kept) == len(episode["trajectory"]):
        return False
    episode["trajectory"] = kept
    return _renumber(episode)


def repeat_call(episode: Episode, random: Random) -> bool:
    """A call was made again some time later, while the first was pending."""
    record = one_call(episode, random)
    if record is None:
        return False
    later = random.randint(record["number"] + 1, len(episode["trajectory"]))
    again = {**deepcopy(record), "number": -1, "pending_before": [record["number"]]}
    episode["trajectory"].insert(later, again)
    return _renumber(episode)


def reorder_calls(episode: Episode, random: Random) -> bool:
    """Two calls changed places."""
    if len(episode["trajectory"]) < 2:
        return False
    one, other = random.sample(range(len(episode["trajectory"])), 2)
    calls = episode["trajectory"]
    calls[one], calls[other] = calls[other], calls[one]
    return _renumber(episode)


def move_call(episode: Episode, random: Random) -> bool:
    """A call was made with the id of another sub-task."""
    record = one_call(episode, random)
    if record is None:
        return False
    ids = [task["id"] for task in episode["composition"]["sub_tasks"]]
    record["task_id"] = random.choice([each for each in ids if each != record["task_id"]])
    # What is pending in the old sub-task is not pending in the new one.
    record["pending_before"] = []
    for each in episode["trajectory"]:
        each["pending_before"] = [n for n in each["pending_before"] if n != record["number"]]
    return True


def rename_call(episode: Episode, random: Random) -> bool:
    """Another tool was called: of the sub-task, or one that it does not have."""
    record = one_call(episode, random)
    if record is None:
        return False
    tools = {tool for task in episode["composition"]["sub_tasks"] for tool in task["tools"]}
    record["tool"] = random.choice(sorted({*tools, "no_such_tool"} - {record["tool"]}))
    return True


def forge_response(episode: Episode, random: Random) -> bool:
    """The record says that a call returned something else."""
    record = one_call(episode, random)
    if record is None:
        return False
    record["response"] = random.choice(('{"error": "No."}', "None", "", '{"ok": true}'))
    return True


def swap_responses(episode: Episode, random: Random) -> bool:
    """Two records hold each other's response."""
    if len(episode["trajectory"]) < 2:
        return False
    one, other = random.sample(episode["trajectory"], 2)
    one["response"], other["response"] = other["response"], one["response"]
    return True


def other_ticks(episode: Episode, random: Random) -> bool:
    """Ticks of a call are other ones, and a result was delivered that was not, or the other way round."""
    record = one_call(episode, random)
    if record is None:
        return False
    record["issued"], record["due"] = random.randint(0, 40), random.randint(0, 40)
    record["delivered"] = random.choice((None, random.randint(0, 40)))
    return True


def forget_pending(episode: Episode, random: Random) -> bool:
    """A call that was premature was not."""
    early = [each for each in episode["trajectory"] if each["pending_before"]]
    if not early:
        return False
    random.choice(early)["pending_before"] = []
    return True


def add_pending(episode: Episode, random: Random) -> bool:
    """An earlier call of the sub-task was still pending."""
    pairs = [
        (earlier["number"], later)
        for later in episode["trajectory"]
        for earlier in episode["trajectory"][: later["number"]]
        if earlier["task_id"] == later["task_id"]
        and earlier["number"] not in later["pending_before"]
    ]
    if not pairs:
        return False
    number, record = random.choice(pairs)
    record["pending_before"] = sorted([*record["pending_before"], number])
    return True


def other_counts(episode: Episode, random: Random) -> bool:
    """The counts of messages are other ones."""
    name = random.choice(("rounds", "ticks", "idle_turns", "format_errors", "truncated"))
    counters = episode["counters"]
    counters[name] = not counters[name] if name == "truncated" else counters[name] + 1
    return True


def forget_messages(episode: Episode, random: Random) -> bool:
    """The conversation was not saved."""
    kept = random.randrange(len(episode["messages"]))
    episode["messages"] = episode["messages"][:kept]
    return True


def _gold(episode: Episode, random: Random) -> list[Record]:
    """The ground truth of one sub-task."""
    gold: list[Record] = random.choice(episode["composition"]["sub_tasks"])["gold"]
    return gold


def drop_gold_call(episode: Episode, random: Random) -> bool:
    """The ground truth lacks its last call; two are the least."""
    gold = _gold(episode, random)
    if len(gold) < 3:
        return False
    gold.pop()
    return True


def swap_gold_calls(episode: Episode, random: Random) -> bool:
    """The last two calls of the ground truth are wanted in the other order, each by the query alone."""
    gold = _gold(episode, random)
    gold[-2:] = [
        {**call, "sources": dict.fromkeys(call["sources"], "query")} for call in gold[:-3:-1]
    ]
    return True


def repeat_gold_call(episode: Episode, random: Random) -> bool:
    """The last call of the ground truth is wanted twice."""
    gold = _gold(episode, random)
    gold.append(deepcopy(gold[-1]))
    return True


def other_gold_argument(episode: Episode, random: Random) -> bool:
    """The ground truth lacks an argument, so that a default holds or the call fails in it."""
    call = random.choice(_gold(episode, random))
    if not call["arguments"]:
        return False
    del call["arguments"][random.choice(sorted(call["arguments"]))]
    return True


def _early_gold(episode: Episode, random: Random) -> list[Any]:
    """Return the gold calls of a sub-task with an early call, or nothing.

    Sources say what such a call needed, and nothing of others.
    """
    early = {each["task_id"] for each in episode["trajectory"] if each["pending_before"]}
    tasks = [each for each in episode["composition"]["sub_tasks"] if each["id"] in early]
    return random.choice(tasks)["gold"] if tasks else []


def other_source(episode: Episode, random: Random) -> bool:
    """Values of a gold call are said to come from elsewhere: from the query, or from an earlier call."""
    gold = _early_gold(episode, random)
    if not gold:
        return False
    step = random.randrange(1, len(gold))
    source = random.choice(("query", {"call": random.randrange(step), "pointer": ""}))
    if not gold[step]["sources"]:
        return False
    gold[step]["sources"] = dict.fromkeys(gold[step]["sources"], source)
    return True


def derived_source(episode: Episode, random: Random) -> bool:
    """A value of a gold call is said to be derived from earlier results."""
    gold = _early_gold(episode, random)
    if not gold:
        return False
    step = random.randrange(1, len(gold))
    uses = sorted(random.sample(range(step), random.randint(0, step)))
    gold[step]["sources"] = {
        place: {"derived": "by hand", "uses": uses} for place in gold[step]["sources"]
    }
    return True


def task_order(episode: Episode, random: Random) -> bool:
    """The sub-tasks are told in another order; each keeps its own verdict."""
    episode["composition"]["sub_tasks"].reverse()
    return True


MUTATIONS = {
    **{
        each.__name__: Mutation(apply=each)
        for each in (
            drop_call,
            drop_task,
            repeat_call,
            reorder_calls,
            move_call,
            rename_call,
            arguments.other_number,
            arguments.other_text,
            arguments.number_as_text,
            arguments.text_as_list,
            arguments.default_in_another_type,
            arguments.one_as_flag,
            arguments.value_as_null,
            arguments.list_order,
            arguments.drop_argument,
            arguments.unknown_argument,
            arguments.swap_values,
            forget_pending,
            add_pending,
            other_counts,
            drop_gold_call,
            swap_gold_calls,
            repeat_gold_call,
            other_gold_argument,
            other_source,
            derived_source,
        )
    },
    **{
        each.__name__: Mutation(apply=each, matters=False)
        for each in (
            arguments.number_spelling,
            arguments.name_order,
            arguments.spell_default,
            forge_response,
            swap_responses,
            other_ticks,
            forget_messages,
            task_order,
        )
    },
}
"""Kind -> mutation. Those that do not matter change what is recorded beside the calls, or how a value is written."""
