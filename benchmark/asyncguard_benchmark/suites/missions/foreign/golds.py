"""Result rows beside the download that they say they are of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.json_lines import Reading
from asyncguard_benchmark.suites.missions.dialogues import Dialogue
from asyncguard_benchmark.suites.missions.entries import Entry
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph
from asyncguard_benchmark.suites.missions.result_rows import read_results


def results_of(path: Path, dialogues: Sequence[Dialogue]) -> Reading[Entry]:
    """Read a result file, and check and complete each row by the download.

    What a row leaves open, the pattern and the relation, is taken from the download. Rows of an unknown mission and
    rows with another gold are problems; missions without a row are warned of.

    Raises:
        OSError: the file cannot be read.
    """
    reading = read_results(path)
    known = {each.id: each for each in dialogues}
    found: list[Entry] = []
    problems = list(reading.problems)
    for entry in reading.found:
        if (fault := _fault(entry, known)) is not None:
            place = f"{path} ({entry.key.dialogue[:60]}, idx {entry.key.mission})"
            problems.append(DataError(place, fault))
            continue
        dialogue, at = known[entry.key.dialogue], entry.key.mission
        found.append(
            replace(
                entry,
                pattern=dialogue.pattern[: at + 1],
                relation=dialogue.missions[at].relation,
            )
        )
    warnings = list(reading.warnings)
    missions = sum(len(each.missions) for each in dialogues)
    if missing := missions - len(found):
        warnings.append(f"{path}: {missing} of {missions} missions of the download have no row")
    return Reading(found=tuple(found), problems=tuple(problems), warnings=tuple(warnings))


def _fault(entry: Entry, known: Mapping[str, Dialogue]) -> str | None:
    """Return what contradicts the download, or None."""
    dialogue = known.get(entry.key.dialogue)
    if dialogue is None:
        return "the download has no readable dialogue of this id"
    if entry.key.mission >= len(dialogue.missions):
        return f"the dialogue has {len(dialogue.missions)} missions, counted from 0"
    mission = dialogue.missions[entry.key.mission]
    if entry.letter is not mission.letter:
        return f"the action type is {entry.letter}, in the download {mission.letter}"
    ours, theirs = _calls(mission.graph), _calls(entry.graph)
    if ours == theirs:
        return None
    if len(ours) != len(theirs):
        return f"answer_list has {len(theirs)} nodes, in the download {len(ours)}"
    place = next(n for n, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
    return f"answer_list[{place}] is not the download's; is it of another version or --language?"


def _calls(graph: GoldGraph) -> list[tuple[str, dict[str, object], frozenset[int]]]:
    return [(each.name, dict(each.arguments), frozenset(each.needs)) for each in graph.nodes]
