"""The code of all documents is run as it stands there, from top to bottom."""

import ast
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mcp.client.stdio  # noqa: F401  # keeps the stderr of its import, which has to be a file
import pytest

from asyncguard import build_agent
from tests.docs.markdown import Fence, fences, read
from tests.docs.words import DOCUMENTS

_FILE = re.compile(r"# (\S+\.py)\n")
_WITH_CODE = [
    page for page in DOCUMENTS if any(each.language == "python" for each in fences(read(page)))
]


def _shown_output(blocks: Sequence[Fence], block: Fence) -> str | None:
    """Return the text block directly after a code block, which shows its output."""
    following = blocks[blocks.index(block) + 1 :]
    end = block.line + block.text.count("\n")
    # The closing fence, an empty line and the opening fence lie between.
    close = following and following[0].language == "text" and following[0].line - end <= 3
    return following[0].text if close else None


@pytest.mark.parametrize("page", _WITH_CODE)
def test_the_code_runs_and_prints_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Python blocks of a page run in order, as one program without a network, and print what is shown."""
    if page == "docs/subgraphs.md":
        pytest.importorskip("deepagents", reason="of the extra `performance`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    blocks = [each for each in fences(read(page)) if each.language in ("python", "text")]
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        if block.language != "python":
            continue
        if named := _FILE.match(block.text):  # a module that a later block imports
            (tmp_path / named[1]).parent.mkdir(exist_ok=True)
            (tmp_path / named[1]).write_text(block.text)
        # Padded, so that a traceback names the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), namespace)
        printed = capsys.readouterr().out
        if (shown := _shown_output(blocks, block)) is not None:
            assert printed == shown
    if page == "docs/logs.md":
        assert (tmp_path / "run.jsonl").read_text().startswith('{"asyncguard_trace"')


def test_pages_show_what_their_code_prints() -> None:
    """Enough of the blocks are compared with what stands below them, so that the check above is one."""
    shown = [
        page
        for page in _WITH_CODE
        for block in fences(read(page))
        if block.language == "python" and _shown_output(fences(read(page)), block) is not None
    ]
    assert {"README.md", "docs/approvals.md", "docs/crash-safety.md", "docs/own-guards.md"} <= set(
        shown
    )


def test_the_first_example_needs_five_lines_of_asyncguard() -> None:
    """The import, the model, the agent, the tasks and the answer; all else is tools and their script."""
    blocks = fences(read("docs/tutorial.md"))
    tree = ast.parse(next(block.text for block in blocks if block.language == "python"))
    own = [
        line
        for line in map(ast.unparse, tree.body)
        if "build_agent" in line or "agent.invoke" in line
    ]
    assert own[0] == "from asyncguard import build_agent"
    assert own[1] == "agent = build_agent(model, [check_weather, find_hotel])"
    assert own[2].startswith("result = agent.invoke({'tasks': [")
    assert len(own) == 3


def test_every_fence_has_a_language() -> None:
    """A block without one would neither be run nor compared."""
    languages = {block.language for page in DOCUMENTS for block in fences(read(page))}
    assert languages <= {
        "python",
        "text",
        "sh",
        "mermaid",
        "json",
        "ts",  # generated from files that tests run
        "tsx",
        "{toctree}",
        "{eval-rst}",
    }


def test_the_readme_can_be_read_in_minutes() -> None:
    """At most 180 lines and 1,500 words, and its first example at most 20 lines of code."""
    text = read("README.md")
    assert len(text.splitlines()) <= 180
    assert len(text.split()) <= 1500
    example = next(block.text for block in fences(text) if block.language == "python")
    assert len([line for line in example.splitlines() if line]) <= 20


def test_the_readme_says_when_the_library_is_of_no_use() -> None:
    """Before anything is installed: a reader whose agent needs no guard learns it here."""
    text = read("README.md")
    section = text.split("## When to use it, and when not\n")[1].split("\n## ")[0]
    assert "Use it if" in section
    assert "Leave it if" in section
    assert text.index(section) < text.index("## Install")


def test_the_tutorial_says_which_adapter_takes_other_middleware() -> None:
    """`build_agent` has no such argument, and the page that introduces both says so."""
    assert "middleware" not in inspect.signature(build_agent).parameters
    assert "`build_agent` takes no `middleware`" in read("docs/tutorial.md")
