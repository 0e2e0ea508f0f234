"""Provenance: required values that the conversation never told."""

from datetime import date
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.admission import ADMIT, Verdict
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import enabled, provenance
from tests.core.builders import Scene, object_schema, rejection
from tests.support.examples import examples

BOOK = ToolSpec(
    name="book",
    parameters=object_schema(
        "hotel",
        "nights",
        hotel={"type": "string", "description": "Name of the hotel."},
        nights={"type": "integer", "description": "From 1 to 30 nights."},
        room={"type": "string"},
    ),
)


def tool(**schema: Any) -> ToolSpec:
    """A tool with one required argument ``value``, whose schema has these keywords."""
    return ToolSpec(name="use", parameters=object_schema("value", value=schema or {}))


def judge(value: Any, *told: str, spec: ToolSpec | None = None, **schema: Any) -> Verdict:
    """The verdict on a call with this value after these words of the user."""
    scene = Scene(spec or tool(**schema), config=GuardConfig(provenance=True))
    for text in told:
        scene.board.evidence.add_common(text)
    return scene.judge(provenance.judge, "use", {"value": value})


def refused(value: Any, *told: str, **schema: Any) -> bool:
    """True if the value is sent back."""
    verdict = judge(value, *told, **schema)
    if verdict == ADMIT:
        return False
    assert "value" in rejection(verdict, "provenance").reason
    return True


def test_an_invented_value_is_asked_for() -> None:
    """With nothing pending a value without a source is sent back, by its name, with the places that were searched."""
    scene = Scene(BOOK)
    scene.board.evidence.add_common("Book the Hotel Mira for me.")
    verdict = rejection(
        scene.judge(provenance.judge, "book", {"hotel": "Mira", "nights": 3}), "provenance"
    )
    assert "nights" in verdict.reason
    assert "hotel" not in verdict.reason
    assert "messages of the user, the system prompt, the results" in verdict.reason
    assert "Ask the user for nights" in verdict.reason
    assert verdict.on == ()


def test_all_values_without_a_source_are_named_at_once() -> None:
    """The model can ask one question for all."""
    verdict = rejection(
        Scene(BOOK).judge(provenance.judge, "book", {"hotel": "Astoria", "nights": 3}),
        "provenance",
    )
    assert "hotel, nights" in verdict.reason


def test_optional_values_are_left_alone() -> None:
    """A tool has to do without them, so a model that sets one decides nothing that it had to ask."""
    scene = Scene(BOOK)
    scene.board.evidence.add_common("Two nights in the Mira.")
    values = {"hotel": "Mira", "nights": 2, "room": "Q7"}
    assert scene.judge(provenance.judge, "book", values) == ADMIT


def sent_back(scene: Scene, values: dict[str, Any]) -> None:
    """The call is refused by the guard, and the model is told."""
    proposal = scene.propose("book", values)
    verdict = rejection(provenance.judge(proposal, scene.board), "provenance")
    key = proposal.call.key
    scene.apply(ev.CallRejected, key=key, guard="provenance", reason=verdict.reason, on=())
    scene.apply(ev.CallsDelivered, keys=(key,))


def test_the_same_value_passes_the_second_time() -> None:
    """The user may have left the choice to the model; another invented value is sent back as the first was."""
    scene = Scene(BOOK)
    scene.board.evidence.add_common("Book the Mira.")
    sent_back(scene, {"hotel": "Mira", "nights": 3})
    assert scene.judge(provenance.judge, "book", {"hotel": "Mira", "nights": 3}) == ADMIT
    sent_back(scene, {"hotel": "Mira", "nights": 8})


def test_a_value_in_the_same_message_is_no_second_try() -> None:
    """The model has not read the first refusal when it writes the second call."""
    scene = Scene(BOOK)
    scene.board.evidence.add_common("Book the Mira and the Roma.")
    first = scene.propose("book", {"hotel": "Mira", "nights": 3}, message="m")
    scene.apply(ev.CallRejected, key=first.call.key, guard="provenance", reason="No.", on=())
    second = scene.judge(provenance.judge, "book", {"hotel": "Roma", "nights": 3}, message="m")
    rejection(second, "provenance")


def test_what_another_guard_refused_is_no_second_try() -> None:
    """Only its own question counts."""
    scene = Scene(BOOK)
    key = scene.propose("book", {"hotel": "Mira", "nights": 3}).call.key
    scene.apply(ev.CallRejected, key=key, guard="arguments", reason="No.", on=())
    scene.apply(ev.CallsDelivered, keys=(key,))
    rejection(scene.judge(provenance.judge, "book", {"hotel": "Mira", "nights": 3}), "provenance")


def test_a_pending_result_may_tell_it() -> None:
    """While a call of the task is open the advice names it, and the refusal waits for it."""
    scene = Scene(BOOK)
    scene.board.evidence.add_common("Two nights in the Mira.")
    key = scene.start("book", {"hotel": "Mira", "nights": 2})
    verdict = rejection(
        scene.judge(provenance.judge, "book", {"hotel": "Roma", "nights": 2}), "provenance"
    )
    assert "wait for book#1" in verdict.reason
    assert verdict.on == (key,)


def test_a_released_call_is_not_judged_again() -> None:
    """What the model knew when it wrote the call does not change."""
    scene = Scene(BOOK)
    key = scene.start("book", {"hotel": "Mira", "nights": 2})
    waiting = scene.defer("book", (key,), {"hotel": "Roma", "nights": 4})
    assert provenance.judge(scene.again(waiting), scene.board) == ADMIT


def test_results_of_other_tasks_and_earlier_answers_are_told() -> None:
    """A value of an earlier request of the conversation was not invented, whatever the task."""
    scene = Scene(tool())
    scene.board.evidence.add("t2", '{"offers": [{"id": "H-77"}]}')
    scene.board.evidence.add_answered("The Mira is free on 12 May 2026.")
    for value in ("H-77", "2026-05-12"):
        assert scene.judge(provenance.judge, "use", {"value": value}) == ADMIT
    assert scene.board.evidence.ungrounded("t1", "H-77") == "H-77", "grounding reads its own task"


TOLD = (
    ("C-17", "Take card C-17."),
    ("rome", "To ROME, please."),
    (3, "three nights"),
    (21, "twenty-one guests"),
    (1250, "It costs $1,250."),
    ("2026-05-07", "Tomorrow. Current date: 2026-05-06."),
    ("2026-05-08", "On Friday. Current date: 2026-05-06."),
    ("2026-05-24", "on 24 May. Current date: 2026-05-06."),
    ("15:00", "at 3 pm"),
    (["Rome", "Oslo"], "Rome and Oslo"),
    ("plans/june.txt", "Make june.txt in plans."),
    ("anna@mira.example", "Anna's address is anna@mira.example"),
    ({"city": "Rome", "nights": 3}, "three nights in Rome"),
)
DERIVED = (
    (350, "200 for the room and 150 for the train"),
    (50, "200 for the room and 150 for the train"),
    (600, "3 nights at 200"),
    (180, "200 less 10 %"),
    (66.67, "200 for 3"),
    (120, "for 2 hours"),
    (2.5, "2500 g of flour"),
    (8, "5 miles"),
    (220, "2.2 bar"),
    (68, "20 celsius"),
    (3, "the third line"),
    (5, "on 24 May 2026"),
    (2, "double it"),
    ("2026-05-27", "for 3 nights from 24 May 2026"),
    ("2026-05-20", "two weeks later. Current date: 2026-05-06"),
    ("2026-05-09", "this weekend. Current date: 2026-05-06"),
    ("2026-05-31", "at the end of the month. Current date: 2026-05-06"),
    ("2026-06-06", "next month. Current date: 2026-05-06"),
    ("2026-03", "what was used in March? Current date: 2026-05-06"),
    ("16:30", "90 minutes from 15:00"),
    ("lawn", "How are the lawns?"),
    ("june.txt", "the plans of june"),
    ("annalopez", "for Anna Lopez"),
    ("https://www.mira.example", "see mira.example"),
)


@pytest.mark.parametrize(("value", "told"), [*TOLD, *DERIVED])
def test_told_and_derived_values_pass(value: Any, told: str) -> None:
    """What was said in another form, or follows from what was said by one step, needs no question."""
    assert not refused(value, told)


ATTACKS = (
    ("art", "the party"),
    ("art deco", "smart deco"),
    ("C-1", "card C-17"),
    (250, "It costs $1,250."),
    (-40, "forty degrees"),
    (40376, "message M-20188 and 20188 more"),
    (5, "room 512"),
    ("5 kg", "5 m of rope"),
    ("2026-05-25", "on 24 May 2026"),
    ("2027-05-24", "on 24 May 2026"),
    ("15:00", "at 3 am"),
    ("anna@other.example", "anna@mira.example"),
    ("M-20144", "M-20188 and 144"),
    ("Rome", ""),
    (3, ""),
    (20200, "message M-20188 and 12 seats"),
    (437, "200 for the room and 150 for the train"),
    ("2026-09-30", "two weeks later. Current date: 2026-05-06"),
    ("2026-04", "what was used in March? Current date: 2026-05-06"),
    ("2024-03", "what was used in March? Current date: 2026-05-06"),
)


@pytest.mark.parametrize(("value", "told"), ATTACKS)
def test_near_misses_are_sent_back(value: Any, told: str) -> None:
    """A part of a word, number or code, another unit, sign, day or address is not what was told."""
    assert refused(value, told)


def conversation(*turns: str) -> Scene:
    """The thread after words of the user, answers of the model (``A: ``) and results (``R: ``)."""
    scene = Scene(tool(), config=GuardConfig(provenance=True))
    evidence = scene.board.evidence
    for turn in turns:
        if turn.startswith("A: "):
            evidence.add_answered(turn[3:])
            evidence.end_request(turn[3:])
        elif turn.startswith("R: "):
            evidence.add("t1", turn[3:])
        else:
            evidence.add_common(turn)
            evidence.request.append(turn)
    return scene


WEIGHT = 'R: {"weight_kg": 607.5}'


@pytest.mark.parametrize(
    "turns",
    [
        ("Declare its weight plus 12 kilos.", WEIGHT),
        ("What does it weigh?", WEIGHT, "A: As you see.", "Declare that plus 12 kilos."),
        ("Declare its weight plus 12 kilos.", "A: Which one?", "The second.", WEIGHT),
        ("Add 12 kilos.", WEIGHT, "A: It is declared.\n\nAnything else?", "Again, please."),
        ("What is it?", "A: 607.5 kilos.", "And the pallet?", "A: 12 kilos.", "Declare the whole."),
        ("What is it?", 'R: {"pieces": [607.5, 12]}', "A: As you see.", "Declare the whole."),
    ],
    ids=["request", "later", "reply", "asked back", "answers", "one result"],
)
def test_numbers_that_were_told_together_are_worked_out(turns: tuple[str, ...]) -> None:
    """In one text or in answers, or one of them is of the request, which lasts until it is answered."""
    assert conversation(*turns).judge(provenance.judge, "use", {"value": 619.5}) == ADMIT


@pytest.mark.parametrize(
    "turns",
    [
        ("A box has 12 kilos.", "A: I see.", "What does it weigh?", WEIGHT),
        ("A box has 12 kilos.", "A: I see.", "And 607.5?", "A: I see.", "Declare it."),
        ("What are they?", WEIGHT, 'R: {"pallet_kg": 12}', "A: As you see.", "Declare it."),
        ("What is it?", WEIGHT, "A: The pallet has 12 kilos.", "Declare it."),
    ],
    ids=["old message", "two messages", "two results", "result and answer"],
)
def test_numbers_from_all_over_a_conversation_are_not_worked_out(turns: tuple[str, ...]) -> None:
    """Any two of a long one would make most small numbers follow."""
    rejection(conversation(*turns).judge(provenance.judge, "use", {"value": 619.5}), "provenance")


DENSE = "The bars weigh 12, 17, 23, 31, 38, 44, 52, 59, 67 and 73."
"""Numbers whose sums and differences are most numbers up to 100."""


@pytest.mark.parametrize("value", [29, 47, 55, 61])
def test_a_number_that_any_other_could_be_as_well_does_not_follow(value: int) -> None:
    """Two of ten told numbers make it, as they make most of those around it."""
    assert refused(value, DENSE)


@pytest.mark.parametrize("value", [4891, 121.91])
def test_a_number_that_stands_out_follows_from_many(value: float) -> None:
    """A product of two, and one by so many per cent more, are hardly met by chance."""
    assert not refused(value, DENSE)


@pytest.mark.parametrize(
    ("value", "request_", "told"),
    [
        (10.55, "half of what they lack", "21.1 mm short"),
        (7.8, "a third of it now.", "23.40 owed"),
        (15.6, "two thirds of it", "23.40 owed"),
        (15.6, "take a third off", "23.40 owed"),
        (46.8, "double it", "23.40 owed"),
        (6, "within half a year", ""),
        (3, "within a quarter of a year", ""),
        (18, "over a year and a half", ""),
        (90, "an hour and a half", ""),
    ],
)
def test_a_share_of_a_told_amount_follows(value: Any, request_: str, told: str) -> None:
    """If the request speaks of a share or a multiple; without it, it does not."""
    for asked, admitted in ((request_, True), ("of it", False)):
        scene = conversation(told, "A: I see.", asked)
        verdict = scene.judge(provenance.judge, "use", {"value": value})
        assert (verdict == ADMIT) is admitted


@pytest.mark.parametrize(
    ("value", "turns", "admitted"),
    [
        (3, ("From 24 May to 27 May.",), True),
        (4, ("From 24 May to 27 May.",), True),
        (3, ("From 2026-05-24 to 2026-05-27. Current date: 2026-05-06",), True),
        ("6", ("30 December 2026 until 5 January 2027",), True),
        (2, ("From 24 May to 27 May.",), False),
        (18, ("From 24 May. Current date: 2026-05-06",), False),
        (3, ("From 24 May to 27 May.", "A: It is booked.", "Another room."), False),
        (13, ("On 2 May, 15 May, 9 June, 11 June or 30 June 2026",), False),
    ],
)
def test_the_nights_between_two_days_follow(
    value: Any, turns: tuple[str, ...], *, admitted: bool
) -> None:
    """Of the present request, unless it names many days; a stay does not end on the present day."""
    verdict = conversation(*turns).judge(provenance.judge, "use", {"value": value})
    assert (verdict == ADMIT) is admitted


def test_an_ordinal_is_no_share() -> None:
    """A third bank pays no third."""
    scene = conversation(
        "She has 1,840 euros.", "A: I see.", "What of a third bank, or a third one?"
    )
    rejection(scene.judge(provenance.judge, "use", {"value": 613.33}), "provenance")


def test_the_system_prompt_is_in_force_in_every_request() -> None:
    """Its numbers may be combined with any other."""
    scene = conversation("What does it weigh?", WEIGHT, "A: As you see.", "Declare the whole.")
    scene.board.evidence.prompt = "Add 12 kilos for the pallet to every weight."
    scene.board.evidence.add_common(scene.board.evidence.prompt)
    assert scene.judge(provenance.judge, "use", {"value": 619.5}) == ADMIT


def test_the_only_word_that_says_something_has_to_be_told() -> None:
    """Of a running text, too; for `grounding` one word says too little."""
    assert refused("thanks for the tip", "Answer Anna.")
    assert not refused("thanks for the tip", "She gave me a tip, answer her.")
    scene = conversation("Answer Anna.")
    assert scene.board.evidence.ungrounded("t1", "thanks for the tip") is None


def test_a_number_of_a_description_is_not_told() -> None:
    """The bounds and examples that a tool describes were not chosen by the user; a choice that it lists in words is."""
    described = "Between 1 and 30 nights, for example 14; the mode is fast or exact."
    assert refused(14, type="integer", description=described)
    assert not refused("exact", type="string", description=described)
    tool_text = ToolSpec(name="use", parameters={**object_schema("value", value={})})
    assert judge(30, spec=tool_text) != ADMIT


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("km", {"enum": ["km", "miles"]}),
        (20, {"default": 20}),
        ("exact", {"const": "exact"}),
        ("A-7", {"examples": ["A-7"]}),
        ("buy", {"description": "Either 'buy' or 'sell'."}),
    ],
)
def test_the_schema_offers_values(value: Any, schema: dict[str, Any]) -> None:
    """Literals, examples and quoted choices of the argument are told."""
    assert not refused(value, **schema)
    assert refused(value)


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("country_code", "NO", "Norway"),
        ("currency", "EUR", "euro notes"),
        ("from_airport", "FCO", "Fiumicino"),
        ("latitude", 41.9, "41.9"),
        ("page", 4, "four"),
        ("query", "important news", "Hotel Astoria 12"),
        ("subject", "A short question", "About Astoria"),
    ],
)
def test_values_that_a_model_knows_or_words(name: str, value: Any, other: Any) -> None:
    """They pass by the argument's name and their form; another form does not, nor does another argument."""
    spec = ToolSpec(name="use", parameters=object_schema(name, **{name: {}}))
    scene = Scene(spec)
    assert scene.judge(provenance.judge, "use", {name: value}) == ADMIT
    rejection(scene.judge(provenance.judge, "use", {name: other}), "provenance")
    assert refused(value)


def test_a_message_has_to_state_something_that_was_told() -> None:
    """The model words a text; one of which little was told is invented, and so is a name in it."""
    spec = ToolSpec(name="use", parameters=object_schema("text", text={"type": "string"}))
    scene = Scene(spec)
    scene.board.evidence.add_common("Tell the team that the meeting moves to room 4.")
    for text in ("The meeting is in room 4 now.", "Please come to the meeting", "ok"):
        assert scene.judge(provenance.judge, "use", {"text": text}) == ADMIT
    for text in ("Lovely weather today", "The meeting with Astoria is off", "meeting in room 9"):
        rejection(scene.judge(provenance.judge, "use", {"text": text}), "provenance")


def test_free_arguments_are_left_alone() -> None:
    """A tool that declares an argument free wants the model's own words."""
    spec = ToolSpec(
        name="use", parameters=object_schema("note", note={"type": "string"}), free=("note",)
    )
    assert Scene(spec).judge(provenance.judge, "use", {"note": "Astoria 9"}) == ADMIT


def test_operands_are_no_values_of_the_model() -> None:
    """A reference to a result is filled in by the runtime."""
    reference = {"from_call": "search#1", "pointer": "/id"}
    assert Scene(tool()).judge(provenance.judge, "use", {"value": reference}) == ADMIT


def test_it_is_off_by_default() -> None:
    """The default neither asks it nor tells of it in traces."""
    assert provenance.judge not in enabled(GuardConfig())
    assert provenance.judge in enabled(GuardConfig(provenance=True))
    assert "provenance" not in GuardConfig().to_json()
    assert GuardConfig(provenance=True).to_json()["provenance"] is True


# -- properties ------------------------------------------------------------------------------------

WORDS = st.sampled_from(["Rome", "Mira", "twine", "Ortega", "gravel", "kappa", "Lissabon"])
IDS = st.from_regex(r"[A-Z]{1,2}-[1-9][0-9]{2,4}", fullmatch=True)
NUMBERS = st.integers(2, 99_999)
FRAMES = st.sampled_from(["Take {}.", "is it {}?", "{}", '{{"a": ["{}"]}}', "({}), please"])
DAYS = st.dates(date(2020, 1, 1), date(2039, 12, 31))
DAY_FORMS = st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%B %d, %Y", "%d %b %Y", "%Y/%m/%d"])
CASES = st.sampled_from([str, str.upper, str.lower])


@settings(max_examples=examples(150))
@given(st.one_of(WORDS, IDS), FRAMES, CASES)
def test_a_told_word_never_fires(value: str, frame: str, case: Any) -> None:
    """In whatever sentence and case."""
    assert not refused(
        value, case(frame.format(value)) if "{{" not in frame else frame.format(value)
    )


@settings(max_examples=examples(150))
@given(NUMBERS, FRAMES, st.sampled_from(["{}", "{:,}", "{}.0", "${:,}"]))
def test_a_told_number_never_fires(value: int, frame: str, form: str) -> None:
    """With or without separators, decimals and a currency; also as a text."""
    text = frame.format(form.format(value))
    assert not refused(value, text)
    assert not refused(str(value), text)


@settings(max_examples=examples(150))
@given(DAYS, FRAMES, DAY_FORMS)
def test_a_told_day_never_fires(day: Any, frame: str, form: str) -> None:
    """In the usual notations."""
    assert not refused(day.isoformat(), frame.format(day.strftime(form)))


@settings(max_examples=examples(100))
@given(
    st.lists(WORDS, min_size=1, max_size=4, unique=True),
    st.sampled_from([" ", "/", "_", "-", ", "]),
)
def test_parts_and_lists_of_told_words_never_fire(words: list[str], mark: str) -> None:
    """Joined by a mark or given as a list, in another order than they were told."""
    told = " and ".join(reversed(words))
    assert not refused(mark.join(words), told)
    assert not refused(words, told)


OPERANDS = st.lists(st.integers(100, 9_999), min_size=2, max_size=2, unique=True)
OPERATIONS = st.sampled_from([lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b])


@settings(max_examples=examples(150))
@given(OPERANDS, OPERATIONS, FRAMES, FRAMES)
def test_a_number_follows_from_two_of_one_text_only(
    operands: list[int], operation: Any, first: str, second: str
) -> None:
    """From the same two in different texts it does not."""
    value = operation(*operands)
    assume(abs(value) not in operands)
    texts = [frame.format(each) for frame, each in zip((first, second), operands, strict=True)]
    assert not refused(value, " ".join(texts))
    assert refused(value, *texts) or value in (0, 1)


@settings(max_examples=examples(150))
@given(IDS, IDS)
def test_another_id_fires(value: str, told: str) -> None:
    """An id of the same look is another one, unless its parts are told."""
    parts = set(value.lower().split("-"))
    if parts <= set(told.lower().split("-")):
        return
    assert refused(value, f"Take {told}.")
