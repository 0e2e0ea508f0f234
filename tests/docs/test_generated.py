"""Generated blocks of the documents agree with the code."""

import pytest

from tests.docs.generate import DOCUMENTS, MAKERS
from tests.docs.markdown import generated_names, read, regenerated
from tests.docs.story import WIDTH, timeline

AGAIN = "run `python -m tests.docs.generate` and look at the difference"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_generated_blocks_are_up_to_date(name: str) -> None:
    """Generating every block again changes nothing."""
    text = read(name)
    assert regenerated(text, MAKERS) == text, AGAIN


def test_every_block_that_can_be_made_is_shown() -> None:
    """Every block that can be generated is shown in a document, as it is checked only there."""
    shown = [name for document in DOCUMENTS for name in generated_names(read(document))]
    assert sorted(shown) == sorted(MAKERS)


def test_an_outdated_block_is_found() -> None:
    """A changed line between the markers does not survive, text around them does."""
    text = "before\n<!-- generated: task-lifecycle -->\nold\n<!-- end -->\nafter\n"
    made = regenerated(text, MAKERS)
    assert made.startswith(
        "before\n<!-- generated: task-lifecycle -->\n```mermaid\nstateDiagram-v2\n"
    )
    assert made.endswith("```\n<!-- end -->\nafter\n")
    assert "old" not in made


def test_the_timeline_shows_what_the_readme_says_of_it() -> None:
    """A retry, a rejected guess and a deferred call are in it, and it fits its width."""
    drawn = timeline()
    assert "1 rejected · 1 deferred · 1 retried" in drawn
    assert "ended: complete" in drawn
    assert max(map(len, drawn.splitlines())) <= WIDTH
