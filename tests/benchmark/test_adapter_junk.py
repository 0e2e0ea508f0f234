"""Files of other authors with junk anywhere: a reader complains of the line, keeps the others, executes nothing."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from asyncguard_benchmark.suites.bfcl.figures import static_figures
from asyncguard_benchmark.suites.bfcl.package import read_package
from asyncguard_benchmark.suites.bfcl.reading import read_source
from asyncguard_benchmark.suites.missions.official import read_dialogues
from asyncguard_benchmark.suites.nestful.check import figures, read_download
from tests.benchmark.builders_bfcl import DOCUMENTS, ENTRIES, QUESTIONS, TRUTHS, files, wheel
from tests.benchmark.builders_dialogues import saved_rows, workshop
from tests.benchmark.builders_nestful import row, written
from tests.benchmark.junk import WORSE, spoilt

Told = tuple[Sequence[str], Sequence[str]]
"""Ids that were read, and the complaints."""
LONGEST = 700
"""Characters of a complaint: it quotes what it complains of, and not all of it."""


def read_missions(folder: Path, random: Random) -> Told:
    """Read a broken dialogue of the official form before a sound one."""
    broken = spoilt(random, workshop(id="broken"), WORSE)
    reading = read_dialogues(saved_rows(folder / "data.jsonl", broken, workshop(id="sound")))
    assert all(f"{folder}/data.jsonl:1" in str(each) for each in reading.problems)
    return [each.id for each in reading.found], [*map(str, reading.problems)]


def read_tasks(folder: Path, random: Random) -> Told:
    """Read a broken row of NESTFUL before a sound one; lists may be texts of JSON, as they are published."""
    broken = spoilt(random, row(sample_id="broken"), WORSE)
    if random.random() < 0.5:
        broken |= {name: json.dumps(broken.get(name)) for name in ("output", "tools")}
    words = written(folder, broken, row(sample_id="sound"))
    download = read_download(Path(words[2]), Path(words[4]))
    figures(download)
    assert all(f"{folder}/data.jsonl:1" in str(each) for each in download.problems)
    return [each.id for each in download.rows], [*map(str, download.problems)]


def read_entries(folder: Path, random: Random) -> Told:
    """Read a package of BFCL in which a question, a truth or a document is broken."""
    lines = {
        QUESTIONS: [question for question, _ in ENTRIES],
        TRUTHS: [truth for _, truth in ENTRIES],
        "data/multi_turn_func_doc/ticket_api.json": DOCUMENTS["ticket_api"],
    }
    name = random.choice([*lines])
    # Spoilt is the first: "broken" is the id of its entry.
    lines[name] = [spoilt(random, lines[name][0], WORSE), *lines[name][1:]]
    content = {
        path: "".join(f"{json.dumps(each)}\n" for each in values) for path, values in lines.items()
    }
    source = read_source(read_package(wheel(folder, files(changed=content))))
    static_figures(source)
    assert all(
        f"{name}, line 1" in str(each) or "holds no" in str(each) for each in source.problems
    )
    named = {ENTRIES[0][0]["id"]: "broken", ENTRIES[2][0]["id"]: "sound"}
    return [named.get(each.id, "") for each in source.entries], [*map(str, source.problems)]


READERS: tuple[Callable[[Path, Random], Told], ...] = (read_missions, read_tasks, read_entries)


def compare_with_junk(
    read: Callable[[Path, Random], Told], folder: Path, seeds: range
) -> tuple[int, int]:
    """Read files with junk; return those that are read whole and those with a complaint."""
    whole = refused = 0
    for seed in seeds:
        names, complaints = read(folder, Random(seed))
        assert "sound" in names, seed
        assert complaints or len(names) == (len(ENTRIES) if read is read_entries else 2), seed
        assert all(len(each) < LONGEST for each in complaints), seed
        whole, refused = whole + (not complaints), refused + bool(complaints)
    assert not (folder / "executed").exists()
    return whole, refused


@pytest.mark.parametrize("read", READERS)
def test_junk_anywhere_in_a_line_costs_that_line_only(
    read: Callable[[Path, Random], Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named by file and line; nothing else is raised, wherever the junk stands."""
    monkeypatch.chdir(tmp_path)
    whole, refused = compare_with_junk(read, tmp_path, range(60))
    assert whole > 5
    assert refused > 15


@pytest.mark.slow
@pytest.mark.parametrize("read", READERS)
def test_much_junk_anywhere_in_a_line_costs_that_line_only(
    read: Callable[[Path, Random], Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with five hundred files each."""
    monkeypatch.chdir(tmp_path)
    whole, refused = compare_with_junk(read, tmp_path, range(1000, 1500))
    assert whole > 50
    assert refused > 150
