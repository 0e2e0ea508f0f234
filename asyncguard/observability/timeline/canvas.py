"""A grid of terminal cells: text is put at columns and comes out as lines, plain or coloured.

A character of double width occupies its cell and the next one, so that what stands to its right
keeps its column.
"""

from enum import StrEnum
from io import StringIO
from unicodedata import combining

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text


class Ink(StrEnum):
    """Styles of rich, by purpose.

    Without colour all look alike, so no meaning depends on them alone.
    """

    PLAIN = ""
    QUIET = "dim"
    HEADING = "bold"
    RUNNING = "green"
    DEFERRED = "yellow"
    HELD = "magenta"
    GOOD = "bold green"
    BAD = "bold red"
    TURN = "bold cyan"


def fit(text: str, width: int) -> str:
    """Return the text in exactly ``width`` cells: padded, or cut with an ellipsis."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, max(0, width - 1)) + "…" if width else ""


class Line:
    """One line of cells."""

    def __init__(self, width: int) -> None:
        """Create an empty line.

        Args:
            width: Number of cells.
        """
        self.width = width
        self._cells: list[tuple[str, Ink]] = [(" ", Ink.PLAIN)] * width

    def put(self, column: int, text: str, ink: Ink = Ink.PLAIN) -> None:
        """Write text from a column on; text that does not fit on the line is left out."""
        for char in text:
            size = cell_len(char)
            if size == 0:
                # An accent joins the character before it. Characters that join or select glyphs
                # are left out: they would change the width.
                before = column - 1
                if combining(char) and before >= 0 and self._cells[before][0]:
                    letter, style = self._cells[before]
                    self._cells[before] = (letter + char, style)
                continue
            if column < 0 or column + size > self.width:
                return
            self._cells[column] = (char, ink)
            if size == 2:
                self._cells[column + 1] = ("", ink)  # taken, and printed by the cell before
            column += size

    def free(self, column: int) -> bool:
        """Return True if nothing was written to a column."""
        return self._cells[column] == (" ", Ink.PLAIN)

    def text(self) -> Text:
        """Return the line with its styles, without blanks at the end."""
        line = Text()
        for char, ink in self._cells:
            line.append(char, style=ink.value)
        line.rstrip()
        return line


def paint(lines: list[Text], *, width: int, color: bool) -> str:
    """Return the lines as one string that ends with a newline, with ANSI colours if wanted."""
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=True,
        color_system="standard",
        highlight=False,
        emoji=False,
    )
    for line in lines:
        console.print(line, soft_wrap=True)  # they fit; rich must not break them again
    return out.getvalue()
