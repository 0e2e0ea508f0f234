"""What a report says of the suite's episodes."""

from asyncguard_benchmark.harness.report.assembly import Side
from asyncguard_benchmark.harness.report.blocks import Chapter


def greetings(side: Side) -> Chapter:
    """Return the number of episodes."""
    text = f"{side.observed.episodes} episodes at the door."
    return Chapter(id="greetings", title="Greetings", text=text, blocks=[])
