"""The README's code is run as it stands there, from top to bottom."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.markdown import Fence, fences, read

_FILE = re.compile(r"# (\S+\.py)\n")
BLOCKS = fences(read("README.md"))


def _shown_output(block: Fence) -> str | None:
    """Return the text block directly after a code block, which shows its output."""
    following = BLOCKS[BLOCKS.index(block) + 1 :]
    end = block.line + block.text.count("\n")
    # The closing fence, an empty line and the opening fence lie between.
    close = following and following[0].language == "text" and following[0].line - end <= 3
    return following[0].text if close else None


def test_the_code_runs_and_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All Python blocks run in order, as one program without a network, and print what is shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    namespace: dict[str, Any] = {"__name__": "readme"}
    compared = 0
    for block in BLOCKS:
        if block.language != "python":
            continue
        if named := _FILE.match(block.text):  # a module that a later block imports
            (tmp_path / named[1]).parent.mkdir(exist_ok=True)
            (tmp_path / named[1]).write_text(block.text)
        # Padded, so that a traceback names the line of the README.
        exec(compile("\n" * (block.line - 1) + block.text, "README.md", "exec"), namespace)
        printed = capsys.readouterr().out
        if (shown := _shown_output(block)) is not None:
            assert printed == shown
            compared += 1
    assert compared >= 1
    assert (tmp_path / "run.jsonl").read_text().startswith('{"asyncguard_trace"')


def test_the_page_on_own_guards_runs_and_prints_what_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its first block is a whole program, and the second what it prints."""
    code, shown = fences(read("docs/own-guards.md"))[:2]
    exec(compile(code.text, "docs/own-guards.md", "exec"), {"__name__": "page"})
    assert (code.language, shown.language) == ("python", "text")
    assert capsys.readouterr().out == shown.text


def test_the_first_example_needs_five_lines_of_asyncguard() -> None:
    """The import, the model, the agent, the tasks and the answer; all else is tools and their script."""
    tree = ast.parse(next(block.text for block in BLOCKS if block.language == "python"))
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
    assert {block.language for block in BLOCKS} <= {"python", "text", "sh"}
