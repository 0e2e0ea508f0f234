import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.adapters.tools.worker_tools import application_version, unsuited
from asyncguard.core.calls import fingerprint
from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Success
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.distributed.database_url import database_url, journal_beside
from asyncguard.distributed.protocol import (
    answer_from_json,
    answer_to_json,
    order_from_json,
    order_of,
    order_to_json,
)
from asyncguard.distributed.version import version_of
from asyncguard.errors import CallerError
from tests.distributed import shop
from tests.distributed.bench import job_of
from tests.support.examples import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(), VALUES, max_size=4)


@settings(max_examples=examples(40))
@given(arguments=ARGUMENTS, effect=st.none() | st.sampled_from(EffectClass), content=st.text())
def test_an_order_and_its_answer_arrive_as_they_were_sent(
    arguments: dict[str, Any], effect: EffectClass | None, content: str
) -> None:
    """Orders keep any text and number, in characters that every database stores."""
    sent = order_of(job_of("tool", arguments, effect=effect, timeout=1.5), "journal")
    text = order_to_json(sent)
    assert text.isascii()
    assert "\x00" not in text
    got = order_from_json(text)
    assert got == sent
    assert got.fingerprint == fingerprint("tool", arguments)
    assert got.id == f"{sent.key}.1"
    if effect is not None:
        intent = got.intent()
        assert intent.remote
        assert (intent.effect, intent.arguments, intent.key) == (effect, arguments, sent.key)
    answer = answer_to_json(
        got.fingerprint, Success(content=content, raw=object(), update={"n": [1]})
    )
    assert answer.isascii()
    assert answer_from_json(answer, sent.fingerprint) == Success(content=content, update={"n": [1]})


@settings(max_examples=examples(60))
@given(text=st.text() | VALUES.map(json.dumps))
def test_what_is_no_order_is_refused(text: str) -> None:
    """With an error of the caller's kind, and nothing else."""
    with pytest.raises(CallerError):
        order_from_json(text)
    with pytest.raises(CallerError):
        answer_from_json(text, "f")


@pytest.mark.parametrize("damage", ["format", "key", "arguments", "attempt", "effect"])
def test_a_damaged_order_is_refused(damage: str) -> None:
    """Each field is looked at; an order of a newer format says what to do."""
    data = json.loads(
        order_to_json(order_of(job_of("pay", {"amount": 1}, effect=EffectClass.KEYED), "journal"))
    )
    data[damage] = {
        "format": 2,
        "key": 7,
        "arguments": [1],
        "attempt": "x",
        "effect": {"effect": "new"},
    }[damage]
    with pytest.raises(CallerError, match="upgrade" if damage == "format" else "cannot be read"):
        order_from_json(json.dumps(data))


def test_an_answer_to_another_order_is_no_answer() -> None:
    """One that could not even be read is answered without a name."""
    failure = Failure(symptom=Symptom(error="unreadable_order", message="no", started=False))
    assert answer_from_json(answer_to_json("", failure), "mine") == failure
    other = answer_from_json(answer_to_json("theirs", Success(content="7")), "mine")
    assert isinstance(other, Failure)
    assert not other.symptom.started


def test_arguments_that_are_no_json_stay_here() -> None:
    """The error names the tool and the way out."""
    with pytest.raises(CallerError, match=r"'pay'.*local="):
        order_to_json(order_of(job_of("pay", {"amount": object()}), "journal"))


def test_the_version_follows_from_what_is_agreed_on_and_from_nothing_else() -> None:
    """Order, code and descriptions of tools do not matter; names, parameters, effects and key arguments do."""
    assert application_version(shop.TOOLS) == application_version(list(reversed(shop.TOOLS)))
    # Not the installed release: calls that 0.1 left in a queue are taken after an update.
    assert re.fullmatch(r"asyncguard-0\.1-[0-9a-f]{12}", application_version(shop.TOOLS))
    base = {
        "name": "a",
        "parameters": {"type": "object"},
        "effect": EffectClass.KEYED,
        "key_argument": "key",
    }
    versions = {
        version_of({spec.name: spec})
        for spec in (
            ToolSpec(**base),
            ToolSpec(**base, timeout=5, destructive=True),  # the same: decided in the agent
            ToolSpec(**{**base, "name": "b"}),
            ToolSpec(**{**base, "parameters": {}}),
            ToolSpec(**{**base, "effect": EffectClass.IDEMPOTENT}),
            ToolSpec(**{**base, "key_argument": "other"}),
        )
    }
    assert len(versions) == 5


def test_tools_that_no_worker_can_run_are_named_with_the_reason() -> None:
    """One sentence for each; those that stay in the agent's process are not complained about."""
    from asyncguard.adapters.tools.declare import as_tools, specs_of

    tools = as_tools(shop.ALL)
    specs = specs_of(tools)
    said = unsuited(tools, specs, ())
    assert [sentence.split()[0] for sentence in said] == ["'ask'", "'order'", "'confirm'"]
    assert "state, store, runtime" in said[0]
    assert "external work" in said[1]
    assert "asks a person" in said[2]
    assert unsuited(tools, specs, ("ask", "order", "confirm")) == []
    assert unsuited(tools, specs, ("ask", "order", "confirm", "fly")) == [
        "local= names 'fly', but the agent has no such tool."
    ]


def test_a_database_is_named_as_a_url_or_a_file(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal is beside it; what is neither is refused without showing a password."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("asyncguard.distributed.database_url._NEEDED", (3, 0))
    assert database_url("calls.db") == f"sqlite:///{tmp_path}/calls.db"
    assert database_url(tmp_path / "calls.db") == database_url("sqlite:///calls.db")
    assert journal_beside(database_url("calls.db")) == f"{tmp_path}/calls.db.journal"
    for scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        assert database_url(f"{scheme}://u@h/n") == "postgresql://u@h/n"
    assert journal_beside("postgresql://u@h/n") == "postgresql://u@h/n"
    for wrong in ("", " ", "sqlite:///", ":memory:", "sqlite://calls.db", "mysql://u:secret@h/n"):
        with pytest.raises(CallerError) as caught:
            database_url(wrong)
        assert "secret" not in str(caught.value)


def test_a_file_is_refused_where_this_pythons_sqlite_is_too_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is written; a server's database does not depend on it."""
    monkeypatch.setattr("asyncguard.distributed.database_url._NEEDED", (99, 0))
    with pytest.raises(CallerError, match=r"'calls\.db'.*needs SQLite 3\.42.*postgresql://"):
        database_url("calls.db")
    assert database_url("postgresql://u@h/n") == "postgresql://u@h/n"
