"""The documents say things once: their hand-written words are counted and bounded."""

import pytest

from asyncguard_benchmark.learned.folder import shipped_models
from tests.docs.markdown import ROOT, read
from tests.docs.words import DOCUMENTS, MOST_WORDS, count_words, results, words_by_document


def test_prose_tables_and_links_are_counted() -> None:
    """A word holds a letter or a digit, so bars, rules and dashes of a table are none."""
    text = "# Two words\n\n| a | b |\n|---|--:|\n| [see here](x.md) | 3 |\n- last\n"
    assert count_words(text) == 2 + 2 + 3 + 1


def test_code_generated_blocks_and_results_are_left_out() -> None:
    """Only what stands around them is counted."""
    text = (
        "one\n```python\nx = 1\n```\ntwo\n<!-- generated: limits -->\n| a |\n<!-- end -->\nthree\n"
        "<!-- figures: begin -->\n| b |\n<!-- figures: end -->\nfour\n"
    )
    assert count_words(text) == 4


def test_every_document_of_the_site_is_counted() -> None:
    """A folder that is forgotten here would grow unseen."""
    assert {"README.md", "docs/architecture.md", "benchmark/mission_sources/README.md"} <= set(
        DOCUMENTS
    )
    left_out = {
        path.relative_to(ROOT).as_posix()
        for place in ("*.md", "docs/**/*.md", "benchmark/**/*.md")
        for path in ROOT.glob(place)
    } - set(DOCUMENTS)
    assert left_out == {
        "benchmark/RESULTS.md",
        "benchmark/RESULTS-missions.md",
        "benchmark/RESULTS-foreign.md",
        "benchmark/RESULTS-learned.md",
        *(f"benchmark/learned/{each.name}/README.md" for each in shipped_models()),
    }


@pytest.mark.parametrize("name", DOCUMENTS)
def test_results_are_tables(name: str) -> None:
    """Prose between the markers of results would escape the count."""
    lines = [line for block in results(read(name)) for line in block.splitlines() if line]
    assert [line for line in lines if not line.startswith("|")] == []


def test_the_architecture_can_be_read_in_an_hour() -> None:
    """At most 250 lines: reasons; tables that are generated stand on a page of their own."""
    assert len(read("docs/architecture.md").splitlines()) <= 250


def test_contributing_can_be_read_in_minutes() -> None:
    """At most 1,000 words: set-up, layout, and where the next thing goes."""
    assert count_words(read("CONTRIBUTING.md")) <= 1000


def test_the_documents_do_not_grow_back() -> None:
    """Each fact stands once: a page that needs more words takes them from another."""
    assert sum(words_by_document().values()) <= MOST_WORDS
