"""The report as one HTML file that needs nothing from anywhere else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from string import Template

from asyncguard_benchmark.harness.report.blocks import Chapter
from asyncguard_benchmark.harness.report.explorer import Explorer, fitted
from asyncguard_benchmark.harness.report.markup import chapter_html
from asyncguard_benchmark.harness.report.number_format import count

LARGEST = 950_000
"""Bytes that a page may have; trajectories fill what is left of them."""
_SCRIPTS = ("inflate.js", "scroll.js", "panels.js", "explorer.js", "timeline.js", "transcripts.js")


@dataclass(frozen=True, kw_only=True)
class Document:
    """Content of a page."""

    title: str
    subtitle: str
    simulated: str
    """Statement of what is simulated; it stands beside the headline, above everything else."""
    headline: Chapter | None = None
    chapters: Sequence[Chapter]
    explorer: Explorer = field(default_factory=Explorer)
    closing: str = ""
    view: str = ""
    """Name of a page of ``asyncguard view`` beside this one, to link to."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A finished page."""

    text: str
    held: int
    """Trajectories in it."""
    of: int
    """Trajectories that there were."""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.text.encode())


def page_of(document: Document, largest: int = LARGEST) -> Page:
    """Put a page together.

    Args:
        document: Content of the page.
        largest: Bytes that it may have.
    """
    panels: dict[str, str] = {}

    def keep(html: str) -> str:
        key = f"p{len(panels)}"
        panels[key] = html
        return key

    # Half a character, which an agent may write and UTF-8 does not know, is shown as a question mark.
    said = [chapter_html(chapter, keep) for chapter in _told(document)]
    bodies = [each.encode("utf-8", "replace").decode() for each in said]
    frame = _framed(document, bodies, data="", note="")
    data = fitted(
        document.explorer, {"panels": panels, "view": document.view}, largest - len(frame.encode())
    )
    text = _framed(document, bodies, data=data.text, note=_note(data.held, data.of))
    return Page(text=text, held=data.held, of=data.of)


def _told(document: Document) -> list[Chapter]:
    return [*([document.headline] if document.headline else []), *document.chapters]


def _framed(document: Document, bodies: Sequence[str], *, data: str, note: str) -> str:
    explorer = _asset("explorer.html") if document.explorer.runs else ""
    links = [(each.id, each.title) for each in _told(document)]
    ahead = 1 if document.headline else 0
    # Headline, first chapter, compositions one by one, and then the breakdowns.
    before, after = bodies[ahead : ahead + 1], bodies[ahead + 1 :]
    chosen = _asset("transcripts.html") if document.explorer.has_talks else ""
    links[ahead + len(before) : ahead + len(before)] = [
        *([("compositions", "Compositions")] if explorer else []),
        *([("transcripts", "Transcripts")] if chosen else []),
    ]
    return Template(_asset("page.html")).substitute(
        title=escape(document.title),
        subtitle=escape(document.subtitle),
        simulated=escape(document.simulated),
        style=_asset("page.css"),
        links="".join(
            f'<li><a href="#{escape(anchor)}">{escape(title)}</a></li>' for anchor, title in links
        ),
        headline="".join(bodies[:ahead]),
        before="".join(before),
        explorer=Template(explorer).substitute(note=escape(note)) + chosen,
        after="\n".join(after),
        closing=escape(document.closing),
        data=data,
        script="\n".join(_asset(name) for name in _SCRIPTS),
    )


def _note(held: int, of: int) -> str:
    if held == of:
        return f"All {count(of)} trajectories of the arms none and all can be looked at here."
    return (
        f"{count(held)} of {count(of)} trajectories of the arms none and all can be looked at here: those that fit, "
        "compositions whose verdict changes first. The others are in the files of episodes."
    )


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
