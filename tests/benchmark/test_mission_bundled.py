"""The bundled missions: sources compile to the shipped data, every proof holds and sees what it is there for."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.services.arguments import Count
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    BundledMission,
    GoldNode,
    Kind,
    Split,
    bundles,
    dumped,
    patched,
    read_bundle,
)
from asyncguard_benchmark.suites.missions.bundled.census import PLANNED, QUICK, census, to_json
from asyncguard_benchmark.suites.missions.bundled.chat_calls import fact_returned
from asyncguard_benchmark.suites.missions.bundled.compiler import compiled
from asyncguard_benchmark.suites.missions.bundled.export import official_row
from asyncguard_benchmark.suites.missions.bundled.history import history_sources
from asyncguard_benchmark.suites.missions.bundled.normal_forms import stands
from asyncguard_benchmark.suites.missions.bundled.proofs import (
    PROOFS,
    dialogue_problems,
    held_out,
    listed,
    suite_problems,
)
from asyncguard_benchmark.suites.missions.bundled.wording import copying_problems, wording_problems
from asyncguard_benchmark.suites.missions.official import read_dialogues

SOURCES = Path(__file__).parents[2] / "benchmark" / "mission_sources"
DATA = Path(__file__).parents[2] / "benchmark/asyncguard_benchmark/suites/missions/data"
TODAY = date(2026, 3, 12)
TRIAL = """
domain: travel
split: held-out
state: travel.json
time: 2026-03-12 09:14:00
tools: hotel_offers hotel_terms book_hotel assign_seat book_flight exchange

=== X1 smct
- s
Who has beds in Lisbon?
a = hotel_offers city="Lisbon"
= {a:/hotels/0/name} ({a:/hotels/0/hotel_id}) does, for {a:/hotels/0/nightly} a night.
- m reference "that house"
Get KV 312 in economy on CC-15 with seat 4A, and what is a night at that house in pounds?
a = book_flight flight="KV 312" cabin="economy" card="CC-15"
b = assign_seat reference=a:/reference seat="4A"
c = exchange sum_of_money=@1.a:/hotels/0/nightly source=~"EUR"{euros} target=~"GBP"{code of pounds;"pounds"}
= Booked as {a:/reference} for {a:/paid}, seat {b:/seat}; a night is {c:/exact} pounds.
- c long memory
The bed from before, please, from 16 April, paid like the flight.
? book_hotel.nights (how long|nights) : For how many nights?
< For eleven.
a = book_hotel hotel_id=@1.a:/hotels/0/hotel_id check_in="2026-04-16" nights=!11 card=@2"CC-15"
= That is {a:/paid} euros.
- t long memory
Flight and one night together, what does that make?
= It is {~244.9{sum;@1.a:/hotels/0/nightly;@2.a:/paid}} euros.
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A domain of one dialogue that every proof accepts."""
    return write(tmp_path_factory.mktemp("trial"), TRIAL)


def write(folder: Path, text: str) -> Bundle:
    """Compile a source that starts from the state of the travel desk."""
    (folder / "travel.json").write_text((SOURCES / "travel.json").read_text("utf-8"), "utf-8")
    (folder / "trial.txt").write_text(text, "utf-8")
    return compiled(folder / "trial.txt")


def problems(bundle: Bundle, only: Sequence[str] = tuple(PROOFS)) -> list[str]:
    """What the proofs of single missions find, without the place."""
    return [
        f"{p.proof}: {p.text}" for d in bundle.dialogues for p in dialogue_problems(bundle, d, only)
    ]


def with_mission(
    bundle: Bundle,
    at: int,
    change: Callable[[BundledMission], BundledMission],
    *,
    resourced: bool = True,
) -> Bundle:
    """The domain with one mission changed, and its history sources found again."""
    dialogue = bundle.dialogues[0]
    missions = list(dialogue.missions)
    missions[at] = change(missions[at])
    made: BundledDialogue = replace(dialogue, missions=tuple(missions))
    for number, mission in enumerate(made.missions if resourced else ()):
        sources = history_sources(bundle, made, number)
        missions[number] = replace(mission, history_sources=sources)
    return replace(bundle, dialogues=(replace(made, missions=tuple(missions)),))


def with_node(
    bundle: Bundle, at: int, number: int, change: Callable[[GoldNode], GoldNode]
) -> Bundle:
    """The domain with one node of a mission changed."""

    def changed(mission: BundledMission) -> BundledMission:
        nodes = list(mission.nodes)
        nodes[number] = change(nodes[number])
        return replace(mission, nodes=tuple(nodes))

    return with_mission(bundle, at, changed)


def test_the_trial_is_sound(trial: Bundle) -> None:
    """No proof objects to the dialogue that the other tests break."""
    assert problems(trial) == []


BREAKS: dict[str, tuple[str, Callable[[Bundle], Bundle]]] = {
    "another result": (
        "gold executes: node 0, hotel_offers, gives",
        lambda b: with_node(b, 0, 0, lambda n: replace(n, observation={"hotels": []})),
    ),
    "a failing call": (
        "gold executes: node 0, book_flight, fails",
        lambda b: with_node(
            b, 1, 0, lambda n: replace(n, arguments={**n.arguments, "card": "CC-99"})
        ),
    ),
    "another state": (
        "gold executes: the gold leaves another state",
        lambda b: with_mission(b, 0, lambda m: replace(m, final_state="0")),
    ),
    "a needless edge": (
        "edges are needed: the edge 0 to 2 is not needed",
        lambda b: with_node(b, 1, 2, lambda n: replace(n, needs=(0,))),
    ),
    "a missing edge": (
        "the rest commutes: in the legal order",
        lambda b: with_node(b, 1, 1, lambda n: replace(n, needs=())),
    ),
    "a value without source": (
        "sources: node 0, /city, has no source",
        lambda b: with_node(b, 0, 0, lambda n: replace(n, sources=())),
    ),
    "a value the message lacks": (
        "sources: node 0, /city: 'Lisbon' does not stand in the message",
        lambda b: with_mission(b, 0, lambda m: replace(m, text="Who has beds?")),
    ),
    "a wrong sum": (
        "sources: fact 244.9: sum of [90, 148.9] is 238.9, not 244.9",
        lambda b: with_mission(b, 3, lambda m: replace(m, facts=(_cheaper(m),))),
    ),
    "an unmasked leaf": (
        "masked history: it can be solved without the history",
        lambda b: with_mission(b, 1, lambda m: replace(m, text=f"{m.text} At 96.")),
    ),
    "a derived value that the message tells": (
        "masked history: it can be solved without the history",
        lambda b: with_mission(b, 3, lambda m: replace(m, text=f"{m.text} Is it 244.9?")),
    ),
    "inputs that the message tells": (
        "masked history: it can be solved without the history",
        lambda b: with_mission(b, 3, lambda m: replace(m, text=f"{m.text} They are 96 and 148.9.")),
    ),
    "a leaf that a nearer mission repeats": (
        "masked history: long memory looks at least 2 missions back, and this one 1",
        lambda b: with_node(b, 1, 3, lambda n: replace(n, observation=f"{n.observation} HT-33")),
    ),
    "a stored source that masking does not show": (
        "masked history: the stored history sources",
        lambda b: with_mission(b, 1, lambda m: replace(m, history_sources=()), resourced=False),
    ),
    "a mention that is not there": (
        "masked history: the mention 'that inn'",
        lambda b: with_mission(b, 1, lambda m: replace(m, mention="that inn")),
    ),
    "a reply that is known": (
        "masked reply: node 1, /nights: the message tells 11 already",
        lambda b: with_mission(b, 2, lambda m: replace(m, text=f"{m.text} Eleven nights.")),
    ),
    "a reply told before": (
        "masked reply: node 1, /nights: mission 1 tells 11 already",
        lambda b: with_mission(b, 0, lambda m: replace(m, text=f"{m.text} 11 of us come.")),
    ),
    "a question that names nothing": (
        "masked reply: the question for nights says none of",
        lambda b: with_node(b, 2, 0, lambda n: replace(n, observation="What else?")),
    ),
    "another action type": (
        "action type: an s mission makes one call, this one 3",
        lambda b: with_mission(
            b, 1, lambda m: replace(m, letter=b.dialogues[0].missions[0].letter)
        ),
    ),
    "a chat that a tool answers": (
        "chat: hotel_offers with {'city': 'Lisbon'} returns the fact 143.5",
        lambda b: with_mission(
            b, 3, lambda m: replace(m, facts=(replace(m.facts[0], value=143.5, how="a guess"),))
        ),
    ),
}


def _cheaper(mission: BundledMission) -> object:
    fact = mission.facts[0]
    return replace(fact, inputs=(replace(fact.inputs[0], value=90), fact.inputs[1]))


@pytest.mark.parametrize("name", BREAKS)
def test_each_proof_sees_its_fault(trial: Bundle, name: str) -> None:
    """A mission that is broken in one way is named by the proof that is there for it."""
    expected, broken = BREAKS[name]
    found = problems(broken(trial), [expected.partition(":")[0]])
    assert any(each.startswith(expected) for each in found), found


def test_values_that_a_listing_shows_are_counted(trial: Bundle) -> None:
    """A hotel's id is found by a call with the city, if the message names the city."""
    assert listed(trial, trial.dialogues[0]) == 0
    named = with_mission(trial, 2, lambda m: replace(m, text=f"{m.text} It is in Lisbon, CC-15."))
    assert listed(named, named.dialogues[0]) == 1


@tool(writes=("till:{task_id}",))
def pay(state: State, euros: Count) -> Any:
    """Pays into the till."""
    state["till"] += euros
    return {"till": state["till"]}


@pytest.mark.parametrize(("fact", "seen"), [(1007, True), (1040, True), (1047, False)])
def test_each_call_is_tried_in_the_world_as_it_is(trial: Bundle, fact: int, *, seen: bool) -> None:
    """A call that wrote is forgotten before the next one, and the world that was given stays."""
    changed = with_mission(
        trial,
        3,
        lambda m: replace(
            m, text=f"{m.text} It is 7 or 40.", facts=(replace(m.facts[0], value=fact),)
        ),
    )
    dialogue = replace(changed.dialogues[0], tools=("pay",))
    world = Executor({"pay": pay}, {"till": 1000})
    assert (fact_returned(dialogue, 3, world) is not None) is seen
    assert world.public_state() == {"till": 1000}


def test_the_suite_refuses_doubles_and_the_wrong_split(trial: Bundle) -> None:
    """Ids and patterns occur once, and a pattern belongs to one split."""
    twice = [str(p) for p in suite_problems([trial, trial])]
    assert sum("occurs in" in each for each in twice) == 2
    moved = replace(trial, split=Split.DEVELOPMENT)
    assert any("belongs to the other split" in str(p) for p in suite_problems([moved]))
    few = replace(trial, dialogues=(replace(trial.dialogues[0], tools=("exchange",)),))
    assert any("1 tools; 5 to 12" in str(p) for p in suite_problems([few]))


def test_messages_by_a_template_are_seen(trial: Bundle) -> None:
    """The same sentence with another value is alike, and so is a tool's name in a message."""
    other = with_mission(trial, 1, lambda m: replace(m, text="Who has beds in 3?"))
    assert any("is like that of" in p.text for p in wording_problems([other]))
    named = with_mission(trial, 1, lambda m: replace(m, text=f"{m.text} Use hotel_terms."))
    assert any(
        "names the tool or argument hotel_terms" in p.text for p in wording_problems([named])
    )


def test_a_mission_of_copied_words_is_seen(trial: Bundle) -> None:
    """The program that copies words solves a message that says the tool's words and the value."""
    plain = with_mission(
        trial, 0, lambda m: replace(m, text="list hotel offers in the place Lisbon by name")
    )
    assert any("solves 1 of 3" in p.text for p in copying_problems([plain]))


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        ("2026-04-16", "on 16 April", True),
        ("2026-04-16", "April 16th, say", True),
        ("2026-03-13", "tomorrow", True),
        ("2026-03-16", "next Monday", True),
        ("2026-04-16", "on 17 April", False),
        (13, "for thirteen nights", True),
        (1200, "1,200 euros", True),
        (312, "flight KV 312", False),
        (9, "at 09:14", False),
        ("window", "two windows", False),
        ("HT-33", "ht-33?", True),
        (True, "true", False),
    ],
)
def test_values_stand_in_any_normal_form(value: object, text: str, *, expected: bool) -> None:
    """Dates, numbers and words are found however they are written, and ids and times hold no quantities."""
    assert stands(value, text, TODAY) is expected


def test_units_are_normal_forms_when_values_are_masked() -> None:
    """2.9 bar tell 290 kilopascals."""
    assert stands(290, "2.9 bar", TODAY, units=True)
    assert not stands(290, "2.9 bar", TODAY)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('city="Lisbon"', "city=Lisbon", "trial.txt:11: expected a JSON value"),
        ("=== X1 smct", "=== X1 smcc", "is to be smcc, and its missions are smct"),
        ("hotel_id=@1.a:", "hotel_id=@3.a:", "@3 is not an earlier mission"),
        ("a:/reference seat", "z:/reference seat", "no call has the label 'z'"),
        ("a:/hotels/0/name", "a:/hotels/7/name", "leads nowhere at '7'"),
        ('seat="4A"', 'seat="9Z"', "assign_seat fails: Seat '9Z' is not free"),
        ("< For eleven.\n", "", "a question has a reply"),
        ("tools: hotel_offers", "tools: hotel_ofers", "lists unknown tools: hotel_ofers"),
        ("domain: travel", "domain: moon", "no tools for the domain 'moon'"),
    ],
)
def test_a_faulty_source_names_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """The compiler says where a source is wrong and what it wants."""
    assert old in TRIAL
    with pytest.raises(DataError) as raised:
        write(tmp_path, TRIAL.replace(old, new, 1))
    assert expected in str(raised.value)


def test_a_file_is_read_back_as_it_was_written(trial: Bundle) -> None:
    """The saved form loses nothing, and a file without the canary is refused."""
    text = dumped(trial)
    assert read_bundle(text, "trial.json") == trial
    with pytest.raises(DataError, match="canary"):
        read_bundle(text.replace("asyncguard missions canary", "bird"), "trial.json")


def test_a_merge_patch_changes_removes_and_leaves_the_original() -> None:
    """Null removes, objects merge, all else replaces."""
    state = {"a": {"b": 1, "c": 2}, "d": [1]}
    assert patched(state, {"a": {"b": None, "e": 3}, "d": [2]}) == {"a": {"c": 2, "e": 3}, "d": [2]}
    assert state == {"a": {"b": 1, "c": 2}, "d": [1]}


def test_the_export_is_read_as_an_official_file(trial: Bundle, tmp_path: Path) -> None:
    """Texts, gold, letters and relations survive the published form."""
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(official_row(trial, trial.dialogues[0])) + "\n", "utf-8")
    reading = read_dialogues(path)
    assert (reading.problems, reading.warnings) == ((), ())
    expected = trial.dialogue(trial.dialogues[0])
    (found,) = reading.found
    for one, other in zip(found.missions, expected.missions, strict=True):
        assert (one.task, one.letter, one.relation, one.messages, one.time) == (
            other.task,
            other.letter,
            other.relation,
            other.messages,
            other.time,
        )
        assert [(n.name, n.arguments, n.needs) for n in one.graph.nodes] == [
            (n.name, n.arguments, n.needs) for n in other.graph.nodes
        ]


def test_the_graph_says_where_values_come_from(trial: Bundle) -> None:
    """Scorers learn from the sources which results a call takes its values from."""
    graph = trial.dialogue(trial.dialogues[0]).missions[1].graph
    assert [node.uses for node in graph.nodes[:3]] == [frozenset(), frozenset({0}), frozenset()]


def test_the_census_counts_what_is_there(trial: Bundle) -> None:
    """Letters, relations, subtypes, switches and what the plan names."""
    found = census([trial])
    wanted = {
        "dialogues": 1,
        "letter s": 1,
        "m, S+P": 1,
        "reference, m": 1,
        "long memory": 2,
        "long memory, distance 2": 2,
        "long memory, two source missions": 1,
        "PTF 1": 1,
        "PTF 2": 1,
        "PTF 3": 1,
    }
    assert {name: found[name] for name in wanted} == wanted
    assert found.keys() >= PLANNED.keys()
    said = to_json([trial])
    assert len(said["missing_held_out"]) + len(said["missing_development"]) == 255
    assert not any(map(held_out, QUICK))


KINDS = """
domain: travel
split: held-out
state: travel.json
time: 2026-03-12 09:14:00
tools: hotel_offers hotel_terms book_hotel cover_offers exchange load_card

=== X2 mc
- m
Take 100 USD into GBP, and that into NOK. What does HT-33 charge for breakfast? Put 20 on CC-28.
a = exchange sum_of_money=100 source="USD" target="GBP"
b = exchange sum_of_money=a:/exact source="GBP" target="NOK"
c = hotel_terms hotel_id="HT-33"
d = load_card card="CC-28" euros=20
= You get {b:/exact}; breakfast is {c:/breakfast}.
- c reference "that house"
A room at that house from 16 April, and what insurance costs.
? book_hotel.nights (nights) : How many nights?
< Five.
? book_hotel.card (card) : Which card?
< CC-15
a = book_hotel hotel_id=@1"HT-33" check_in="2026-04-16" nights=!5 card=!"CC-15"
b = cover_offers reference=a:/reference
= It is {a:/paid}.
"""


def test_the_census_counts_repeated_names_and_kinds_of_questions(tmp_path: Path) -> None:
    """Calls of one name with other successors, two rounds, two values, several calls, a bait in the history."""
    found = census([write(tmp_path, KINDS)])
    wanted = {
        "m, S+P": 1,
        "m, repeated names": 1,
        "m, repeated names with different successors": 1,
        "c, two missing values": 1,
        "c, two rounds": 1,
        "c, several calls": 1,
        "c, stale bait": 1,
        "s and m, derived value": 0,
    }
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_shipped_data_is_what_its_source_compiles_to(path: Path) -> None:
    """No data file is edited by hand or outlives a change of its source."""
    assert (DATA / f"{path.stem}.json").read_text("utf-8") == dumped(compiled(path))


def test_no_data_file_is_without_source() -> None:
    """Each domain that is shipped has its source."""
    shipped, sources = (
        {path.stem for path in folder} for folder in (DATA.glob("*.json"), SOURCES.glob("*.txt"))
    )
    assert shipped == sources


DOMAINS = pytest.mark.parametrize("bundle", bundles(), ids=lambda bundle: bundle.domain)
CHAT = "chat"
"""The proof that tries thousands of calls for each mission: three quarters of the time of all proofs."""


@pytest.mark.sampled(5)
@DOMAINS
def test_the_shipped_missions_hold(bundle: Bundle) -> None:
    """Every proof of single missions holds for the domain, the longest for an eighth of its dialogues."""
    assert problems(bundle, [name for name in PROOFS if name != CHAT]) == []
    assert problems(replace(bundle, dialogues=bundle.dialogues[::8]), [CHAT]) == []


@pytest.mark.slow
@DOMAINS
def test_no_tool_answers_a_chat_of_the_shipped_missions(bundle: Bundle) -> None:
    """The longest proof holds for the other dialogues, too."""
    others = [each for number, each in enumerate(bundle.dialogues) if number % 8]
    assert problems(replace(bundle, dialogues=tuple(others)), [CHAT]) == []


@pytest.mark.slow
def test_the_shipped_suite_holds() -> None:
    """Ids, patterns, wording and copying are right over all domains together."""
    found = bundles()
    assert [*suite_problems(found), *wording_problems(found), *copying_problems(found)] == []


def test_held_out_files_are_those_that_were_logged() -> None:
    """A change of held-out data shows: the README of the sources lists the digests."""
    logged = (SOURCES / "README.md").read_text("utf-8")
    for path in sorted(DATA.glob("*.json")):
        if json.loads(path.read_text("utf-8"))["split"] == Split.HELD_OUT:
            assert sha256(path.read_bytes()).hexdigest() in logged, path.name


def test_values_of_every_kind_occur(trial: Bundle) -> None:
    """The trial has a source of each kind but words of a schema and common knowledge."""
    kinds = {s.kind for m in trial.dialogues[0].missions for n in m.nodes for s in n.sources}
    assert kinds == set(Kind) - {Kind.SCHEMA, Kind.COMMON}
