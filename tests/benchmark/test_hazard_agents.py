"""Agents of the hazard suite, each in conversations where a test chooses the tools' answers."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from asyncguard_benchmark import Regime, Surface
from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.episode import Run
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.pointers import PointerError
from asyncguard_benchmark.harness.protocol import entries
from asyncguard_benchmark.harness.protocol.actions import Action, CallAction, Idle
from asyncguard_benchmark.harness.protocol.surfaces import TextSpeech
from asyncguard_benchmark.harness.scenario import Composition, Kind
from asyncguard_benchmark.harness.scoring.answers import is_right
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.suites.hazards.agents.answers import Answer, read_answers
from asyncguard_benchmark.suites.hazards.agents.argument_pairs import carried_over
from asyncguard_benchmark.suites.hazards.agents.competent import CompetentAgent
from asyncguard_benchmark.suites.hazards.agents.hasty import read_hastily
from asyncguard_benchmark.suites.hazards.agents.plan_follower import HazardAgent
from asyncguard_benchmark.suites.hazards.agents.siblings import is_telling, probe_of, stand_ins
from asyncguard_benchmark.suites.hazards.agents.simple import (
    GivesUpEarlyAgent,
    NaiveAgent,
    OverTrustingAgent,
    RetryHappyAgent,
)
from asyncguard_benchmark.suites.hazards.agents.suspicions import (
    Suspicion,
    left_untouched,
    named_in,
    suspect,
)
from asyncguard_benchmark.suites.hazards.agents.value_search import find_value
from asyncguard_benchmark.suites.hazards.tasks import alone
from tests.benchmark.builders import SUB_TASKS
from tests.benchmark.hazard_talk import TASKS, Talk, Told, broken, changed, talk
from tests.support.examples import examples

ALL = (NaiveAgent, RetryHappyAgent, GivesUpEarlyAgent, OverTrustingAgent, CompetentAgent)
BUSY = "TimeoutError: market_rate did not answer within 30 s"
NUMBER, TEXT, EITHER = {"type": "number"}, {"type": "string"}, {"type": ["string", "number"]}
surfaces = pytest.mark.parametrize("surface", list(Surface))


def gold(task: str) -> list[str]:
    """The tools of the ground truth."""
    return [call.tool for call in TASKS[task].sub_task.gold]


def effects(found: Talk, task: str) -> int:
    """Return the number of effects in the conversation."""
    return len(found.states[task]["effects"]) - len(TASKS[task].sub_task.initial_state["effects"])


def answer(task: str) -> Any:
    """Return the answer that is to be submitted."""
    return TASKS[task].answer.value


@surfaces
@pytest.mark.parametrize("agent", [*ALL, OracleAgent])
def test_without_faults_all_make_the_calls_of_the_plan(
    agent: type[OracleAgent], surface: Surface
) -> None:
    """No agent adds, drops or repeats a call where nothing is wrong, also with late results and two like sources."""
    for task in ("tr-02", "tr-06", "tr-10"):
        for late in (False, True):
            found = talk(agent, task, surface, late=late)
            assert found.ended
            assert found.tools == gold(task)
            assert found.arguments("submit_answer") == [{"answer": answer(task)}]


@pytest.mark.sampled(2)
@surfaces
@pytest.mark.parametrize("agent", ALL)
@pytest.mark.parametrize(
    "words", [BUSY, "Invalid arguments: 'x' is a required property", "no", "429 Too Many Requests"]
)
def test_every_task_ends_once_whatever_is_broken(
    agent: type[HazardAgent], surface: Surface, words: str
) -> None:
    """An agent closes the task by exactly one call and ends, however long a tool stays broken."""
    for tool in ("look_up_invoice", "buy_currency"):
        found = talk(agent, "tr-02", surface, {tool: [broken(words)] * 40})
        assert found.ended
        assert len(found.closings) == 1


@surfaces
@pytest.mark.parametrize("agent", ALL)
def test_an_answer_that_is_sent_back_is_no_end(agent: type[HazardAgent], surface: Surface) -> None:
    """An agent that looks at failures tries again or reports it, and ends all the same."""
    found = talk(agent, "tr-03", surface, {"submit_answer": [broken(BUSY)] * 40})
    assert found.ended
    assert found.closings.count("report_problem") == (agent is not OverTrustingAgent)
    assert found.closings.count("submit_answer") == (4 if agent is RetryHappyAgent else 1)


@surfaces
def test_the_naive_agent_reports_a_failure_without_trying_again(surface: Surface) -> None:
    """One failed call ends the task."""
    found = talk(NaiveAgent, "tr-02", surface, {"market_rate": [broken(BUSY)]})
    assert found.tools == ["look_up_invoice", "market_rate", "report_problem"]


@surfaces
@pytest.mark.parametrize(
    ("told", "submitted"),
    [
        (changed(lambda rate: {"fx_rate": rate["rate"]}), 11.2075),
        (changed(lambda rate: rate["rate"]), 11.2075),
        (Told(text="11.2 crowns for a euro"), 11.2),
        (changed(lambda rate: {**rate, "rate": f"{rate['rate']} SEK"}), "11.2075 SEK"),
    ],
)
def test_the_naive_agent_takes_what_it_gets(surface: Surface, told: Told, submitted: Any) -> None:
    """A value that is not at its place is read hastily; one of a wrong look is passed on as it is."""
    found = talk(NaiveAgent, "tr-08", surface, {"market_rate": [told]})
    assert found.arguments("submit_answer") == [{"answer": submitted}]
    assert talk(
        NaiveAgent, "tr-08", surface, {"market_rate": [changed(lambda _: {})]}
    ).closings == ["report_problem"]


@surfaces
def test_notes_mean_nothing_to_the_naive_agent_and_much_to_others(surface: Surface) -> None:
    """An answer with a note is still read; who gives up early reports it."""
    noted = changed(lambda rate: rate, note="The sources disagree; the value is doubtful.")
    assert talk(NaiveAgent, "tr-08", surface, {"market_rate": [noted]}).tools == gold("tr-08")
    assert talk(GivesUpEarlyAgent, "tr-08", surface, {"market_rate": [noted]}).closings == [
        "report_problem"
    ]


@surfaces
@pytest.mark.parametrize(
    "told", [broken(BUSY), changed(lambda rate: {"fx_rate": rate["rate"]}), Told(text="11.2")]
)
def test_who_gives_up_early_reports_whatever_is_odd(surface: Surface, told: Told) -> None:
    """A failure, a missing field, and a text that is not an object are reported at once."""
    found = talk(GivesUpEarlyAgent, "tr-08", surface, {"market_rate": [told]})
    assert found.closings == ["report_problem"]
    assert found.tools.count("market_rate") == 1


@surfaces
def test_the_retry_happy_agent_repeats_effects_blindly(surface: Surface) -> None:
    """Three repetitions with the same arguments, though each may have paid; then a report."""
    lost = broken(BUSY, acts=True)
    twice = talk(RetryHappyAgent, "tr-03", surface, {"pay_invoice": [lost, lost]})
    assert twice.tools == ["read_scan", *["pay_invoice"] * 3, "submit_answer"]
    assert effects(twice, "tr-03") == 3
    ever = talk(RetryHappyAgent, "tr-03", surface, {"pay_invoice": [lost] * 9})
    assert ever.tools == ["read_scan", *["pay_invoice"] * 4, "report_problem"]
    assert len({json.dumps(each) for each in ever.arguments("pay_invoice")}) == 1
    assert (
        talk(
            RetryHappyAgent, "tr-03", surface, {"pay_invoice": [lost] * 9}, most_repeats=1
        ).tools.count("pay_invoice")
        == 2
    )


@surfaces
def test_the_over_trusting_agent_makes_up_what_it_does_not_get(surface: Surface) -> None:
    """After a failure it continues with a number of its own, and submits what follows from it."""
    found = talk(OverTrustingAgent, "tr-01", surface, {"central_bank_rate": [broken(BUSY)]})
    assert found.tools == gold("tr-01")
    (made_up,) = found.arguments("convert_amount")
    assert isinstance(made_up["rate"], float)
    assert made_up["rate"] != 1.0842
    (submitted,) = found.arguments("submit_answer")
    assert submitted["answer"] != answer("tr-01")


@surfaces
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("failures", [1, 2, 3])
def test_the_competent_agent_repeats_what_passes(
    surface: Surface, late: bool, failures: int
) -> None:
    """A call without effect is made again until it works."""
    found = talk(
        CompetentAgent, "tr-02", surface, {"market_rate": [broken(BUSY)] * failures}, late=late
    )
    assert found.tools.count("market_rate") == failures + 1
    assert found.arguments("submit_answer") == [{"answer": answer("tr-02")}]


@surfaces
@pytest.mark.parametrize("agent", [RetryHappyAgent, CompetentAgent])
@pytest.mark.parametrize("late", [False, True])
def test_what_a_call_was_for_is_known_among_calls_of_one_tool(
    agent: type[HazardAgent], surface: Surface, late: bool
) -> None:
    """Three calls of one tool overlap and the first fails: it is that one which is made again."""
    found = talk(agent, "tr-07", surface, {"look_up_invoice": [broken(BUSY)]}, late=late)
    asked = [each["invoice_id"] for each in found.arguments("look_up_invoice")]
    assert sorted(asked) == ["INV-3015", "INV-3015", "INV-3022", "INV-3047"]
    assert found.arguments("submit_answer") == [{"answer": answer("tr-07")}]


@surfaces
@pytest.mark.parametrize("late", [False, True])
def test_the_competent_agent_asks_a_tool_like_one_that_stays_broken(
    surface: Surface, late: bool
) -> None:
    """The sibling has arguments of other names; its answer stands for that of the step."""
    found = talk(
        CompetentAgent, "tr-02", surface, {"look_up_invoice": [broken(BUSY)] * 40}, late=late
    )
    assert {"read_scan", "recount_invoice"} & set(found.tools)
    assert found.arguments("submit_answer") == [{"answer": answer("tr-02")}]


@surfaces
def test_the_competent_agent_takes_the_option_that_is_named(surface: Surface) -> None:
    """An agent that is offered another tool after a failure uses it and repeats nothing."""
    words = "Three attempts timed out. You may ask recount_invoice instead, or report_problem."
    found = talk(CompetentAgent, "tr-02", surface, {"look_up_invoice": [broken(words)] * 40})
    assert found.tools[:2] == ["look_up_invoice", "recount_invoice"]
    assert found.arguments("submit_answer") == [{"answer": answer("tr-02")}]


@surfaces
@pytest.mark.parametrize("happens", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_the_competent_agent_probes_an_effect_before_it_repeats_it(
    surface: Surface, happens: bool, late: bool
) -> None:
    """It is paid once, whether the first order was lost on its way there or its answer on the way back."""
    found = talk(
        CompetentAgent, "tr-03", surface, {"pay_invoice": [broken(BUSY, acts=happens)]}, late=late
    )
    paid = (
        ["pay_invoice", "find_payment"]
        if happens
        else ["pay_invoice", "find_payment", "pay_invoice"]
    )
    assert found.tools == ["read_scan", *paid, "submit_answer"]
    assert effects(found, "tr-03") == 1
    assert found.arguments("submit_answer") == [{"answer": answer("tr-03")}]


@surfaces
def test_the_competent_agent_does_not_repeat_an_effect_that_nothing_can_probe(
    surface: Surface,
) -> None:
    """A reminder without a probe may be there or not: that is reported."""
    found = talk(CompetentAgent, "tr-04", surface, {"set_reminder": [broken(BUSY, acts=True)]})
    assert found.tools == ["look_up_invoice", "set_reminder", "report_problem"]
    sent_back = broken("Client error '429 Too Many Requests', Retry-After: 2")
    assert talk(CompetentAgent, "tr-04", surface, {"set_reminder": [sent_back]}).closings == [
        "submit_answer"
    ]


@surfaces
def test_the_competent_agent_rewrites_a_refused_call(surface: Surface) -> None:
    """It reads the live contract and says the same under the new names."""
    live = {
        "type": "object",
        "properties": {
            "request": {
                "type": "object",
                "properties": {"sold": TEXT, "wanted": TEXT},
                "required": [],
            }
        },
        "required": ["request"],
        "additionalProperties": False,
    }
    refusal = broken("Invalid arguments for market_rate: 'request' is a required property")
    contract = Told(text=json.dumps({"parameters": live, "returns": None}))
    rate = Told(text='{"base": "EUR", "quote": "CHF", "rate": 0.9471, "as_of": "2026-01-01"}')
    found = talk(
        CompetentAgent,
        "tr-02",
        surface,
        {"market_rate": [refusal, rate], "describe_tool": [contract]},
    )
    assert found.arguments("describe_tool") == [{"tool": "market_rate"}]
    assert found.arguments("market_rate")[1] == {"request": {"sold": "EUR", "wanted": "CHF"}}
    assert found.arguments("submit_answer") == [{"answer": answer("tr-02")}]


@surfaces
def test_the_competent_agent_says_again_what_was_mangled_on_its_way(surface: Surface) -> None:
    """A refusal under an unchanged contract: the same call, effects as well, as nothing has happened."""
    refusal = broken("Invalid arguments for pay_invoice: 'amount' is a required property")
    found = talk(CompetentAgent, "tr-03", surface, {"pay_invoice": [refusal, refusal]})
    assert found.tools == [
        "read_scan",
        "pay_invoice",
        "describe_tool",
        "pay_invoice",
        "pay_invoice",
        "submit_answer",
    ]


@surfaces
@pytest.mark.parametrize(
    "told",
    [
        changed(lambda rate: {"data": rate}),
        changed(lambda rate: {**rate, "rate": {"value": rate["rate"], "unit": "SEK"}}),
        changed(lambda rate: {**rate, "rate": f"{rate['rate']} SEK"}),
        Told(text='Here you are: ```json\n{"rate": 11.2075}\n``` (as quoted)'),
        Told(text="rate: 11.2075; day: 2026-11-02"),
    ],
)
def test_the_competent_agent_finds_a_value_in_a_strange_answer(
    surface: Surface, told: Told
) -> None:
    """Wrapped, with a unit, inside prose, or with labels."""
    found = talk(CompetentAgent, "tr-08", surface, {"market_rate": [told]})
    (submitted,) = found.arguments("submit_answer")
    assert is_right(submitted["answer"], TASKS["tr-08"].answer)


@surfaces
def test_the_competent_agent_lets_a_third_source_decide(surface: Surface) -> None:
    """Two answers to one question differ: one more is asked, and the majority counts."""
    for wrong in ("central_bank_rate", "market_rate"):
        found = talk(
            CompetentAgent, "tr-08", surface, {wrong: [changed(lambda rate: {**rate, "rate": 9.5})]}
        )
        assert found.tools.count("desk_rate") == 1
        assert found.arguments("submit_answer") == [{"answer": answer("tr-08")}]


@surfaces
def test_the_competent_agent_reports_sources_that_all_differ(surface: Surface) -> None:
    """Without a majority nothing is submitted."""
    told = {
        name: [changed(lambda rate, off=off: {**rate, "rate": off})] * 9
        for off, name in enumerate(("central_bank_rate", "market_rate", "desk_rate"), 3)
    }
    assert talk(CompetentAgent, "tr-08", surface, told).closings == ["report_problem"]


@surfaces
def test_the_competent_agent_checks_what_a_note_doubts(surface: Surface) -> None:
    """A doubtful answer is compared with another source; a note that only tells what was done is not."""
    doubtful = changed(
        lambda rate: {**rate, "rate": 9.5}, note="The sources disagree: this is unverified."
    )
    found = talk(CompetentAgent, "tr-02", surface, {"market_rate": [doubtful]})
    assert {"central_bank_rate", "desk_rate"} <= set(found.tools)
    assert found.arguments("submit_answer") == [{"answer": answer("tr-02")}]
    mended = changed(lambda rate: rate, note="Brought into the declared form: fx_rate became rate.")
    assert talk(CompetentAgent, "tr-02", surface, {"market_rate": [mended]}).tools == gold("tr-02")


@pytest.mark.parametrize(
    ("agent", "rates", "told", "closing"),
    [
        (
            NaiveAgent,
            {"hasty_rate": 0},
            changed(lambda rate: {"fx_rate": rate["rate"]}),
            "report_problem",
        ),
        (RetryHappyAgent, {"most_repeats": 0}, broken(BUSY), "report_problem"),
        (
            GivesUpEarlyAgent,
            {"give_up_rate": 0},
            changed(lambda rate: {"fx_rate": rate["rate"]}),
            "submit_answer",
        ),
        (OverTrustingAgent, {"made_up_rate": 0}, broken(BUSY), "report_problem"),
        (CompetentAgent, {"diagnosis_rate": 0}, broken(BUSY), "report_problem"),
    ],
)
def test_each_agent_has_a_rate_that_turns_its_habit_off(
    agent: type[HazardAgent], rates: dict[str, float], told: Told, closing: str
) -> None:
    """At 0 the habit is gone; by default it is always there."""
    found = talk(agent, "tr-08", Surface.TEXT, {"market_rate": [told]}, **rates)
    assert found.closings == [closing]
    assert found.tools.count("market_rate") == 1


@surfaces
@pytest.mark.parametrize("agent", ALL)
def test_tasks_without_an_answer_are_played_as_the_oracle_plays_them(
    agent: type[HazardAgent], surface: Surface
) -> None:
    """Beside a hazard task, and with late results."""
    pair = Composition(
        id="mixed", kind=Kind.C2, sub_tasks=(TASKS["tr-12"].sub_task, SUB_TASKS["fs-01"])
    )
    run = Run(regime=Regime.RANDOM12, surface=surface, seed=3)
    made = [
        [
            (record.task_id, record.tool, record.arguments)
            for record in play_plain(pair, each, run).trajectory
        ]
        for each in (agent(plan=plan_of(pair)), OracleAgent(plan=plan_of(pair)))
    ]
    assert made[0] == made[1]


def test_refusals_of_a_guard_are_obeyed_and_not_for_ever() -> None:
    """A refused call is made again; refused again and again, the task ends by a report, and that by silence."""
    composition = alone(TASKS["tr-03"])
    agent, speech = NaiveAgent(plan=plan_of(composition)), TextSpeech(composition)
    messages, tools = speech.opening(), []
    for _ in range(20):
        said = agent.invoke(messages)
        (action,) = speech.read(said)
        if not isinstance(action, CallAction):
            break
        tools.append(action.tool)
        messages += [
            said,
            HumanMessage('{"role": "tool", "content": "{\\"error\\": \\"Not now.\\"}"}'),
        ]
    assert tools == ["read_scan"] * 4 + ["report_problem"] * 4


def test_what_was_refused_waits_until_the_task_is_at_rest() -> None:
    """While another call is out, the same refusal would come again."""
    composition = alone(TASKS["tr-06"])
    agent, speech = NaiveAgent(plan=plan_of(composition)), TextSpeech(composition)
    messages: list[BaseMessage] = speech.opening()

    def said(*reply: str) -> Action:
        messages.extend(HumanMessage(text) for text in reply)
        messages.append(agent.invoke(messages))
        (action,) = speech.read(messages[-1])
        return action

    first = said()
    assert isinstance(first, CallAction)
    assert isinstance(
        said(entries.lines([entries.note(entries.wait_content(entries.EXECUTING))])), CallAction
    )
    assert isinstance(said(entries.lines([entries.note(entries.error_content("Not now."))])), Idle)
    shown = entries.signature(first.tool, first.arguments)
    entry = {"role": "tool", "id": first.task_id, "function name": shown, "response": "{}"}
    again = said(json.dumps(entry))
    assert isinstance(again, CallAction)
    assert again.tool == "read_scan"


def test_any_content_is_an_answer_but_a_placeholder() -> None:
    """A tool may answer by a bare number or in prose; only ``wait`` says that the answer comes later."""
    for text in ("12.5", "rate: 3", '"EUR"', "[1, 2]", "None"):
        (outcome,) = read_answers(ToolMessage(text, tool_call_id="a"))
        assert (outcome.standing, outcome.response) == (Standing.ANSWERED, text)
    assert not list(read_answers(ToolMessage('{"wait": "soon"}', tool_call_id="a")))
    (refused,) = read_answers(ToolMessage("no", tool_call_id="a", status="error"))
    assert refused.standing is Standing.REJECTED
    assert Answer('{"error": "x"}').failed
    assert not Answer('{"error": "x", "total": 3}').failed


@pytest.mark.parametrize(
    ("value", "schema", "found"),
    [
        ({"total": 5}, NUMBER, 5),
        ({"sum": "x", "n": 5.5}, NUMBER, 5.5),
        ({"total": {"amount": 7, "currency": "EUR"}}, NUMBER, 7),
        ("total: 12.50 EUR", NUMBER, 12.5),
        ("total: 12", {"type": "integer"}, 12),
        ({"total": True, "n": 2}, NUMBER, 2),
        ("CN-12 is it", TEXT, "CN-12"),
        (9, EITHER, 9),
    ],
)
def test_a_hasty_reader_takes_the_first_thing_that_fits(
    value: Any, schema: dict[str, Any], found: Any
) -> None:
    """At its place, else by type, else out of a text."""
    assert read_hastily(value, "/total", schema) == found


@pytest.mark.parametrize("value", [{}, [], "no number here", {"a": None}])
def test_a_hasty_reader_invents_nothing(value: Any) -> None:
    """A hasty reader raises if no value fits."""
    with pytest.raises(PointerError):
        read_hastily(value, "/total", NUMBER)


@pytest.mark.parametrize(
    ("value", "returns", "found"),
    [
        ({"total_amount": 5, "tax": 1}, {}, 5),
        ({"gross": 5, "tax": 1}, {"properties": {"gross": {"aliases": ["total"]}}}, 5),
        (
            {"gross": 5, "tax": 1},
            {"properties": {"gross": {"description": "The total to pay."}}},
            5,
        ),
        ({"result": {"total": "5.5"}}, {}, 5.5),
        ("The total: 5.5 EUR (as quoted)", {}, 5.5),
    ],
)
def test_an_attentive_reader_finds_what_is_certain(
    value: Any, returns: dict[str, Any], found: Any
) -> None:
    """A field is found by a name like the missing one, or by the live contract."""
    assert find_value(value, "/total", NUMBER, returns) == found


@pytest.mark.parametrize(
    "value",
    [
        {"gross": 5, "tax": 1},
        {"total_net": 5, "total_gross": 6},
        {"total": {"a": 1, "b": 2}},
        '{"total": 12',
    ],
)
def test_an_attentive_reader_does_not_guess(value: Any) -> None:
    """Neither one of two fields nor a value of an answer that was cut off is chosen."""
    with pytest.raises(PointerError):
        find_value(value, "/total", NUMBER)


@settings(max_examples=examples(40))
@given(
    st.dictionaries(
        st.text(max_size=5),
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        max_size=4,
    )
)
def test_a_value_at_its_place_is_read_as_it_is(value: Any) -> None:
    """A value at its place is read hastily or attentively, whatever stands around it."""
    answered = {"around": value, "total": 17}
    assert read_hastily(answered, "/total", NUMBER) == find_value(answered, "/total", NUMBER) == 17


def test_arguments_are_carried_over_where_it_is_plain_which_is_which() -> None:
    """Arguments are carried over by name, alias, description or nesting, each exactly once."""
    declared = {
        "properties": {"origin": {"type": "string", "description": "Where from."}, "weight": NUMBER}
    }

    def live(**properties: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    said = {"origin": "OSL", "weight": 3}
    start = {"type": "string", "description": "Where from."}
    assert carried_over(said, declared, live(start=start, weight=NUMBER)) == {
        "start": "OSL",
        "weight": 3,
    }
    assert carried_over(
        said, declared, live(start={"type": "string", "aliases": ["origin"]}, weight=TEXT)
    ) == {
        "start": "OSL",
        "weight": "3",
    }
    nested = live(data=live(attributes=live(origin=TEXT, weight=NUMBER)))
    assert carried_over(said, declared, nested) == {"data": {"attributes": said}}
    assert carried_over(said, declared, live(origin=TEXT)) is None
    assert carried_over(said, declared, live(origin=TEXT, weight=NUMBER, code=TEXT)) is None


@pytest.mark.parametrize(
    ("words", "suspicion"),
    [
        ("TimeoutError: nothing within 30 s", Suspicion.PASSING),
        ("Server error '503 Service Unavailable'", Suspicion.PASSING),
        ("Client error '429 Too Many Requests', Retry-After: 2", Suspicion.PASSING),
        ("Client error '422 Unprocessable Entity'", Suspicion.REFUSED),
        ("Invalid arguments for pay: 503 is not of type 'string'", Suspicion.REFUSED),
        ("The register holds no invoice 'INV-5010'.", Suspicion.UNKNOWN),
    ],
)
def test_the_words_of_a_failure_are_read_as_a_person_reads_them(
    words: str, suspicion: Suspicion
) -> None:
    """A status where there is one; a number in a sentence is none."""
    assert suspect(words) is suspicion


def test_words_tell_what_was_not_begun_and_which_tools_are_named() -> None:
    """Only an explicit statement means not begun; a tool is named by a whole word."""
    assert left_untouched("429 Too Many Requests")
    assert left_untouched("the request was not sent")
    assert not left_untouched("Connection reset by peer")
    assert named_in("ask read_scan or scan_all", ["scan", "scan_all", "read_scan"]) == (
        "read_scan",
        "scan_all",
    )


@pytest.mark.parametrize(
    ("name", "says", "telling"),
    [
        ("market_rate", "Tells the rate on the market.", True),
        ("find_stock", "Stock of an article.", True),
        ("order_sheet", "Shows an order as the desk has it.", True),
        ("order_parts", "Orders parts.", False),
        ("add_up", "Adds up amounts.", False),
        ("sum_of", "Adds up amounts.", True),
        ("announce_arrival", "Tells the receiver when something arrives.", False),
        ("find_seat", "Finds a seat and holds it; holds another when called again.", False),
        ("seat", "A seat.", False),
    ],
)
def test_what_does_not_plainly_tell_is_taken_to_do_something(
    name: str, says: str, telling: bool
) -> None:
    """Names decide before descriptions do, but for nouns that are verbs as well."""
    assert is_telling({name: {"description": says}}, name) is telling


def test_tools_of_an_api_list_are_told_apart_by_what_they_say() -> None:
    """A tool that only tells may be repeated; a probe and stand-ins with like values are found."""
    tools = {
        name: tool.function_schema() for name, tool in tools_of(TASKS["tr-02"].sub_task).items()
    }
    for name, tool in tools_of(TASKS["tr-02"].sub_task).items():
        assert not (is_telling(tools, name) and tool.writes)
    found = stand_ins(tools, "market_rate", {"sold": "EUR", "bought": "CHF"})
    assert ("central_bank_rate", {"base": "EUR", "quote": "CHF"}) in found
    assert {name for name, _ in found} == {"central_bank_rate", "desk_rate"}
    assert (
        stand_ins(tools, "market_rate", {"sold": "EUR", "bought": "CHF"}, named=["desk_rate"])[0][0]
        == "desk_rate"
    )
    bought = {"currency": "CHF", "amount": 3}
    assert probe_of(tools, "buy_currency", bought) == ("find_deal", bought)
    assert (
        probe_of(tools, "set_reminder", {"invoice_id": "INV-1", "remind_on": "2026-01-01"}) is None
    )
