import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call

from asyncguard.testing import (
    HistoryError,
    Provider,
    check_history,
    check_history_all,
    history_violations,
)
from asyncguard.testing.completion import GEMINI_SIGNATURES
from asyncguard.testing.history.checker import RULES
from asyncguard.testing.history.gemini import GEMINI_3
from tests.testing.histories import BREAKERS, Breaker, History, answer, calling, valid_histories

GO = HumanMessage("go")
EVERYBODY = list(Provider)
OA, AN, GE, MI = Provider.OPENAI, Provider.ANTHROPIC, Provider.GEMINI, Provider.MISTRAL


def broken(
    history: History, provider: Provider, *, gemini3: bool = False
) -> list[tuple[int | None, str]]:
    """Lists place and name of every broken rule."""
    return [
        (found.index, found.rule)
        for found in history_violations(history, provider, gemini3=gemini3)
    ]


@given(valid_histories())
def test_valid_histories_pass_everywhere(history: History) -> None:
    """A history that every provider accepts passes all rules, those of Gemini 3 included."""
    check_history_all(history, gemini3=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("breaker", BREAKERS)
@settings(max_examples=25)
@given(valid_histories(), st.integers(min_value=0, max_value=99))
def test_every_broken_pairing_is_caught_everywhere(
    breaker: Breaker, history: History, pick: int
) -> None:
    """Each way to part calls and answers is a violation for each provider."""
    check_it_is_caught(breaker, history, pick)


@pytest.mark.full
@pytest.mark.parametrize("breaker", BREAKERS)
@settings(max_examples=400)
@given(valid_histories(), st.integers(min_value=0, max_value=99))
def test_many_broken_pairings_are_caught_everywhere(
    breaker: Breaker, history: History, pick: int
) -> None:
    """Many more broken histories are refused for every provider."""
    check_it_is_caught(breaker, history, pick)


def check_it_is_caught(breaker: Breaker, history: History, pick: int) -> None:
    """A valid history that was broken in one way is refused for every provider."""
    mutant = breaker(history, pick)
    for provider in Provider:
        with pytest.raises(HistoryError):
            check_history(mutant, provider)


INVALID = AIMessage(
    "",
    invalid_tool_calls=[invalid_tool_call(name="search", args="{oops", id="i", error="not JSON")],
)

# Rule, providers that have it, the place found, and the history that breaks it.
CASES: list[tuple[str, list[Provider], int | None, History]] = [
    ("history_has_messages", EVERYBODY, None, []),
    ("messages_have_a_known_role", EVERYBODY, 1, [GO, RemoveMessage(id="x")]),
    ("messages_have_a_known_role", EVERYBODY, 1, [GO, FunctionMessage(name="f", content="x")]),
    ("text_can_be_encoded", EVERYBODY, 0, [HumanMessage("half \ud800")]),
    (
        "text_can_be_encoded",
        EVERYBODY,
        2,
        [GO, calling("a"), ToolMessage([{"\ud800": 1}], tool_call_id="a")],
    ),
    ("calls_have_an_id", EVERYBODY, 1, [GO, calling(""), answer("")]),
    ("calls_have_a_name", EVERYBODY, 1, [GO, calling("a", name=""), answer("a")]),
    ("call_ids_are_unique", EVERYBODY, 1, [GO, calling("a", "a"), answer("a")]),
    (
        "call_ids_are_unique",
        EVERYBODY,
        3,
        [GO, calling("a"), answer("a"), calling("a"), answer("a")],
    ),
    ("calls_are_answered_at_once", EVERYBODY, 1, [GO, calling("a")]),
    (
        "calls_are_answered_at_once",
        EVERYBODY,
        1,
        [GO, calling("a", "b"), answer("b"), AIMessage("hm"), answer("a")],
    ),
    ("calls_are_answered_at_once", EVERYBODY, 1, [GO, INVALID, GO]),
    ("answers_follow_their_call", EVERYBODY, 1, [GO, answer("a")]),
    ("answers_follow_their_call", EVERYBODY, 3, [GO, calling("a"), answer("a"), answer("b")]),
    ("calls_are_answered_once", EVERYBODY, 3, [GO, calling("a"), answer("a"), answer("a")]),
    ("tool_names_are_plain", [OA, MI], 1, [GO, calling("a", name="no such tool!"), answer("a")]),
    ("tool_names_are_plain", [OA, MI], 1, [GO, calling("a", name="n" * 65), answer("a")]),
    ("ids_are_short", [OA], 1, [GO, calling("i" * 41), answer("i" * 41)]),
    ("message_names_are_plain", [OA], 1, [GO, AIMessage("x", name="My Agent"), GO]),
    ("system_messages_come_first", [AN, GE], 1, [GO, SystemMessage("late"), GO]),
    ("user_speaks_first", [AN], 0, [AIMessage("hello"), GO]),
    ("user_speaks_first", [AN], None, [SystemMessage("alone")]),
    ("ids_are_plain", [AN], 1, [GO, calling("functions.search:0"), answer("functions.search:0")]),
    (
        "tool_results_come_first",
        [AN],
        3,
        [GO, calling("a", "b"), HumanMessage("news"), answer("a"), answer("b")],
    ),
    ("texts_are_not_empty", [AN], 0, [HumanMessage("")]),
    (
        "texts_are_not_empty",
        [AN],
        0,
        [HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": " "}])],
    ),
    ("texts_are_not_empty", [AN], 1, [GO, calling("a", text="\n"), answer("a")]),
    (
        "texts_are_not_empty",
        [AN],
        2,
        [GO, calling("a"), ToolMessage([{"type": "text", "text": ""}], tool_call_id="a")],
    ),
    ("assistant_content_is_not_empty", [AN], 1, [GO, AIMessage(""), GO]),
    ("assistant_content_is_not_empty", [AN], 1, [GO, AIMessage([]), GO]),
    ("final_text_has_no_trailing_space", [AN], 1, [GO, AIMessage("Sure, ")]),
    (
        "final_text_has_no_trailing_space",
        [AN],
        1,
        [GO, AIMessage([{"type": "text", "text": "Sure, "}])],
    ),
    ("history_ends_with_the_user", [AN], 1, [GO, AIMessage("done")]),
    ("calls_follow_a_user_or_a_response", [GE], 0, [calling("a"), answer("a")]),
    (
        "calls_follow_a_user_or_a_response",
        [GE],
        2,
        [GO, AIMessage("hm"), calling("a"), answer("a")],
    ),
    ("responses_are_as_many_as_calls", [GE], 1, [GO, calling("a", "b"), answer("a")]),
    ("responses_are_as_many_as_calls", [GE], 1, [GO, calling("a"), answer("a"), answer("a")]),
    ("parts_are_not_empty", [GE], 0, [HumanMessage("")]),
    ("parts_are_not_empty", [GE], 1, [GO, AIMessage(""), GO]),
    ("parts_are_not_empty", [GE], 0, [HumanMessage([{"type": "text", "text": ""}])]),
    ("roles_follow_in_order", [MI], 3, [GO, calling("a"), answer("a"), HumanMessage("news")]),
    ("roles_follow_in_order", [MI], 3, [GO, calling("a"), answer("a"), SystemMessage("news"), GO]),
    ("roles_follow_in_order", [MI], 2, [GO, AIMessage("x"), SystemMessage("late"), GO]),
    ("roles_follow_in_order", [MI], 1, [GO, answer("a")]),
    ("history_ends_with_user_or_tool", [MI], 1, [GO, AIMessage("done")]),
    ("assistant_says_or_calls", [MI], 1, [GO, AIMessage(""), GO]),
    ("prefix_is_last", [MI], 1, [GO, AIMessage("x", additional_kwargs={"prefix": True}), GO]),
    ("lone_message_is_no_answer", [MI], 0, [AIMessage("x", additional_kwargs={"prefix": True})]),
]


@pytest.mark.parametrize(("rule", "providers", "place", "history"), CASES)
def test_a_rule_finds_its_breach_at_its_place(
    rule: str, providers: list[Provider], place: int | None, history: History
) -> None:
    """Each rule reports the right message for exactly the providers that have it."""
    for provider in Provider:
        assert ((place, rule) in broken(history, provider)) == (provider in providers), provider


def test_every_rule_has_a_case() -> None:
    """No rule of the table goes untested."""
    assert {rule.__name__ for rules in RULES.values() for rule in rules} == {
        case[0] for case in CASES
    }


# Histories that look odd and are fine for the providers named.
ALLOWED: list[tuple[list[Provider], History]] = [
    ([OA, AN, GE], [GO, calling("a", "b"), answer("b"), answer("a"), HumanMessage("news")]),
    ([OA], [GO, SystemMessage("late"), GO, AIMessage("done")]),
    ([OA, MI], [GO, SystemMessage("after the user"), GO]),
    (EVERYBODY, [SystemMessage("one"), SystemMessage("two"), GO, HumanMessage("and more")]),
    (EVERYBODY, [GO, INVALID, answer("i", "not JSON")]),
    (EVERYBODY, [GO, calling("a"), answer("a", "")]),
    (
        EVERYBODY,
        [
            GO,
            AIMessage([{"type": "text", "text": "hm"}], tool_calls=calling("a").tool_calls),
            answer("a"),
        ],
    ),
    ([OA, AN], [GO, AIMessage("hm"), calling("a"), answer("a")]),
    ([MI], [GO, AIMessage("Sure", additional_kwargs={"prefix": True})]),
    (
        [OA, GE, MI],
        [GO, calling("functions.search:0", name="search"), answer("functions.search:0")],
    ),
    ([OA], [GO, AIMessage("x", name="my_agent"), GO]),
]


@pytest.mark.parametrize(("providers", "history"), ALLOWED)
def test_what_a_provider_accepts_is_no_violation(
    providers: list[Provider], history: History
) -> None:
    """The checker is strict, not fussy."""
    check_history_all(history, providers=providers)


def test_gemini_3_wants_the_first_call_of_each_step_signed() -> None:
    """An unsigned synthetic call in the current turn is refused, wherever it stands in it."""
    history = [
        GO,
        calling("a"),
        answer("a"),
        calling("b", "c", signed=False),
        answer("b"),
        answer("c"),
    ]
    assert broken(history, GE, gemini3=True) == [(3, "calls_are_signed")]
    assert broken(history, GE) == []
    assert all(broken(history, provider, gemini3=True) == [] for provider in (OA, AN, MI))


def test_gemini_3_wants_only_the_first_of_parallel_calls_signed() -> None:
    """A signature on the second call alone does not count; one on the first alone does."""
    second = calling("a", "b", signed=False)
    second.additional_kwargs[GEMINI_SIGNATURES] = {"b": "c2ln"}
    answers = [answer("a"), answer("b")]
    assert broken([GO, second, *answers], GE, gemini3=True) == [(1, "calls_are_signed")]
    assert broken([GO, calling("a", "b"), *answers], GE, gemini3=True) == []


def test_gemini_3_does_not_look_at_earlier_turns() -> None:
    """A user message begins a new turn; unsigned calls before it are not validated."""
    history = [GO, calling("a", signed=False), answer("a"), AIMessage("so"), GO]
    assert broken(history, GE, gemini3=True) == []


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "function_call_signature", "signature": "c2ln", "index": 0}],
        [
            {
                "type": "tool_call",
                "id": "a",
                "name": "search",
                "args": {},
                "extras": {"signature": "c2ln"},
            }
        ],
    ],
)
def test_gemini_3_signatures_in_content_blocks_count(
    content: list[str | dict[str, object]],
) -> None:
    """Signatures are found wherever langchain-google-genai keeps them."""
    message = calling("a", signed=False)
    message.content = content
    assert broken([GO, message, answer("a")], GE, gemini3=True) == []


def test_gemini_3_refuses_a_model_turn_at_the_end() -> None:
    """Only with gemini3 does the last turn have to be the user's."""
    assert broken([GO, AIMessage("done")], GE, gemini3=True) == [(1, "history_ends_with_the_user")]
    assert broken([GO, AIMessage("done")], GE) == []
    assert {rule.__name__ for rule in GEMINI_3} == {
        "calls_are_signed",
        "history_ends_with_the_user",
    }


def test_the_error_lists_everything_and_shows_the_history() -> None:
    """One look at the error tells provider, message, rule, sentence, and what was sent."""
    history: list[BaseMessage] = [GO, calling("a", "b"), HumanMessage("x" * 200), answer("a")]
    with pytest.raises(HistoryError) as caught:
        check_history_all(history, providers=[OA, MI])
    text = str(caught.value)
    assert len(caught.value.violations) == len(broken(history, OA)) + len(broken(history, MI))
    assert (
        "openai: message 1: calls_are_answered_at_once: The call 'a' of 'search' has no answer"
        in text
    )
    assert (
        "mistral: message 3: roles_follow_in_order: Unexpected role 'tool' after role 'user'."
        in text
    )
    assert "1: ai calls=['a', 'b'] ''" in text
    assert "3: tool answers='a' 'result'" in text
    assert "x" * 100 not in text


@pytest.mark.parametrize("provider", Provider)
def test_a_check_of_one_provider_reports_that_one(provider: Provider) -> None:
    """check_history names only the provider that was asked about."""
    with pytest.raises(HistoryError) as caught:
        check_history([GO, calling("a")], provider)
    assert {violation.provider for violation in caught.value.violations} == {provider}


def test_a_provider_may_be_named() -> None:
    """By its name in small letters; another name is refused with that name."""
    history = [AIMessage("Hello.")]
    assert history_violations(history, "openai") == history_violations(history, Provider.OPENAI)
    with pytest.raises(ValueError, match="'nosuch' is not a valid Provider"):
        history_violations(history, "nosuch")
