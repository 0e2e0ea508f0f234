"""Decisions of killed agents, compared with each other."""

from pathlib import Path
from typing import Any

from asyncguard.core.resume_terms import Effect, Facts, Open, Why
from asyncguard.runtime.resume import resolve
from reliability.decided import as_markdown, disagreements, rows_reached
from reliability.decisions import note_decisions, read_decisions
from reliability.lane import Played


def played(build: str, *decided: tuple[str, str, str]) -> Played:
    """A case in which these decisions were made."""
    return Played(case="case", part="forks", build=build, decided=[list(each) for each in decided])


def test_decisions_are_written_down_and_read(tmp_path: Path, monkeypatch: Any) -> None:
    """Equal ones once; a line that a kill has cut off is left out."""
    monkeypatch.setattr(resolve, "decide", resolve.decide)  # put back afterwards
    path = tmp_path / "decisions.jsonl"
    note_decisions(path)
    facts = Facts(why=Why.REPORTED_LOST, state=Open.PENDING, effect=Effect.KEYED)
    for _ in range(2):
        assert resolve.decide(facts).rule == "lost"
    with path.open("a", encoding="utf-8") as file:
        file.write('["reported lost/pen')
    ((told, fate, rule),) = read_decisions(path)
    assert told.startswith("reported lost/pending/keyed/")
    assert (fate, rule) == ("in doubt", "lost")


def test_rows_are_counted_by_front_end() -> None:
    """A row counts once a case, however often it was asked there."""
    lost = ("facts", "in doubt", "lost")
    results = [
        played("build_agent", lost, ("others", "in doubt", "lost")),
        played("middleware", lost),
        played("middleware"),
    ]
    assert ("lost", "in doubt", 1, 1) in rows_reached(results)
    assert "| lost | in doubt | 1 | 1 |" in as_markdown(results)
    assert disagreements(results) == []


def test_two_fates_of_equal_facts_are_told() -> None:
    """An adapter that decided for itself would be found."""
    results = [
        played("build_agent", ("facts", "squash", "x")),
        played("middleware", ("facts", "in doubt", "y")),
    ]
    assert disagreements(results) == ["facts: in doubt, squash"]
