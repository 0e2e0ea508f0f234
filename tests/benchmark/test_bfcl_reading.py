"""Reading of bfcl-eval: what is there, what is broken, and that nothing of it runs."""

import json
import zipfile
from pathlib import Path

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.suites.bfcl.package import BrokenPackageError, read_package
from asyncguard_benchmark.suites.bfcl.projections import TaskKind, cuts_of
from asyncguard_benchmark.suites.bfcl.reading import Source, read_source
from tests.benchmark.builders_bfcl import DOCUMENTS, ENTRIES, QUESTIONS, TRUTHS, entry, files, wheel


def _read(place: Path, **changed: str) -> Source:
    return read_source(read_package(wheel(place, files(changed=changed))))


def _with_truth(place: Path, call: str) -> Source:
    wrong = entry(9, {"Do it.": ["read_ticket(id=1)", call]})
    return read_source(read_package(wheel(place, files([*ENTRIES, wrong]))))


def test_a_wheel_a_folder_and_the_package_in_it_read_alike(tmp_path: Path) -> None:
    """All forms of the package give the same entries, documents and version."""
    path = wheel(tmp_path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    folder = tmp_path / "unpacked"
    found = [read_source(read_package(each)) for each in (path, folder, folder / "bfcl_eval")]
    assert [each.entries for each in found] == [found[0].entries] * 3
    assert [each.package.version for each in found] == ["2026.3.23"] * 3
    assert found[0].problems == ()


def test_positional_arguments_are_named_by_the_signature(tmp_path: Path) -> None:
    """A call by position has the names of the method's parameters."""
    calls = read_source(read_package(wheel(tmp_path))).entries[2].calls
    assert [dict(call.arguments) for call in calls] == [
        {"symbol": "XY", "price": 3.5},
        {"symbol": "XY"},
    ]


def test_entries_of_one_class_are_whole_and_others_are_projected(tmp_path: Path) -> None:
    """The cuts are those of the specification, with the turns that hold their calls."""
    cuts = cuts_of(read_source(read_package(wheel(tmp_path))).entries, TaskKind)
    assert [(cut.id, len(cut.calls)) for cut in cuts] == [
        ("bfcl-0-TP-e", 2),
        ("bfcl-0-TP-t0", 2),
        ("bfcl-1-TP-p", 2),
        ("bfcl-1-TB-p", 2),
        ("bfcl-2-TB-e", 2),
        ("bfcl-2-TB-t0", 2),
    ]
    shared = {cut.id for cut in cuts if cut.shared_turn}
    assert shared == {"bfcl-1-TP-p", "bfcl-1-TB-p"}
    assert cuts[2].query == "1. Buy it at 10, and open a ticket 'Bought'.\n2. Open 'Again', too."


@pytest.mark.parametrize(
    "call",
    [
        "__import__('os').system('touch /tmp/never')",
        "__import__('os')",
        "read_ticket(id=read_ticket(id=1))",
        "self.read_ticket(id=1)",
        "read_ticket(id=(lambda: 1)())",
        "read_ticket(id=1) or read_ticket(id=2)",
        "read_ticket(**{'id': 1})",
        "read_ticket(id={1, 2})",
        "read_ticket(1, id=2)",
        "read_ticket(1, 2)",
        "read_ticket()",
        "read_ticket(id=1",
        "forget(id=1)",
        "read_ticket(id=float('nan'))",
        "read_ticket(id=1e999)",
        f"{'read' * 2000}()",
        f"read_ticket({'id' * 2000}=1)",
    ],
)
def test_what_is_not_one_literal_call_is_refused(tmp_path: Path, call: str) -> None:
    """Such a truth is a problem named by file, line and id; the other entries are read."""
    source = _with_truth(tmp_path, call)
    assert len(source.entries) == len(ENTRIES)
    (problem,) = source.problems
    assert problem.where == f"{TRUTHS}, line 4 (multi_turn_base_9).ground_truth[0]"
    assert len(str(problem)) < 500


def test_each_kind_of_broken_entry_is_named(tmp_path: Path) -> None:
    """A cut line, a missing truth, an unknown class and a doubled id are told, each with its place."""
    lines = files()[QUESTIONS].splitlines()
    lost = json.dumps({**ENTRIES[0][0], "id": "multi_turn_base_7"})
    alien = json.dumps({**ENTRIES[1][0], "involved_classes": ["WebSearchAPI"]})
    source = _read(
        tmp_path, **{QUESTIONS: "\n".join([lines[0], alien, lines[2][:50], lost, lines[0]])}
    )
    told = sorted(map(str, source.problems))
    assert [line.split(":")[0] for line in told] == [
        f"{QUESTIONS}, line 2 (multi_turn_base_1).involved_classes",
        f"{QUESTIONS}, line 3",
        f"{QUESTIONS}, line 4 (multi_turn_base_7)",
        f"{QUESTIONS}, line 5 (multi_turn_base_0)",
        f"{TRUTHS}, line 3 (multi_turn_base_2)",
    ]
    assert [each.id for each in source.entries] == ["multi_turn_base_0"]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"involved_classes": [{"a": 1}, "TicketAPI"]}, ".involved_classes: unknown classes"),
        ({"initial_config": {"x" * 5000: {}}}, ".initial_config: unknown classes"),
        ({"question": "y" * 10_000_000}, ".question: a text of 10,000,000 characters"),
        ({"path": json.loads("[" * 150 + "]" * 150)}, ".path: nested more than 100 levels"),
    ],
)
def test_fields_of_a_question_may_be_anything(
    tmp_path: Path, changed: dict[str, object], complaint: str
) -> None:
    """What is too long, too deep or of another type is named, in few words; the other entries are read."""
    lines = files()[QUESTIONS].splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | changed)
    source = _read(tmp_path, **{QUESTIONS: "\n".join(lines)})
    (problem,) = map(str, source.problems)
    assert problem.startswith(f"{QUESTIONS}, line 1 (multi_turn_base_0){complaint}")
    assert len(problem) < 500
    assert len(source.entries) == 2


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"required": [["id"]]}, ".parameters.required: read_ticket has no"),
        ({"properties": {"id": {"type": ["x"]}}}, ".parameters.properties.id.type: ['x'] is none"),
        ({"properties": {"id": {"type": "z" * 9000}}}, ".parameters.properties.id.type: 'zzz"),
    ],
)
def test_fields_of_a_document_may_be_anything(
    tmp_path: Path, parameters: dict[str, object], complaint: str
) -> None:
    """The tool is left out by file, line and place."""
    name = "data/multi_turn_func_doc/ticket_api.json"
    sound = DOCUMENTS["ticket_api"][1]
    document = sound | {"parameters": sound["parameters"] | parameters}
    (problem,) = map(str, _read(tmp_path, **{name: json.dumps(document)}).problems)
    assert problem.startswith(f"{name}, line 1{complaint}")
    assert len(problem) < 500


def test_turns_of_question_and_truth_are_as_many(tmp_path: Path) -> None:
    """An entry with more turns of truth than requests is a problem."""
    question, truth = entry(3, {"Look.": ["price('A')"]})
    truth["ground_truth"].append([])
    source = read_source(read_package(wheel(tmp_path, files([(question, truth)]))))
    assert [each.problem for each in source.problems] == ["2 turns of truth for 1 of questions"]


def test_another_version_is_refused_unless_any_is_taken(tmp_path: Path) -> None:
    """Only the two releases with known figures are read without --any-version."""
    path = wheel(tmp_path, version="2025.6.8")
    with pytest.raises(BrokenPackageError, match=r"2025\.6\.8.*--any-version"):
        read_package(path)
    assert read_package(path, any_version=True).version == "2025.6.8"


def test_a_broken_wheel_says_what_is_missing(tmp_path: Path) -> None:
    """A file that is not a wheel, one without truths, and nothing at all are three messages."""
    (tmp_path / "cut.whl").write_bytes(wheel(tmp_path).read_bytes()[:100])
    with pytest.raises(BrokenPackageError, match="not a wheel"):
        read_package(tmp_path / "cut.whl")
    without = {name: text for name, text in files().items() if name != TRUTHS}
    with pytest.raises(BrokenPackageError, match="one file of ground truths"):
        read_package(wheel(tmp_path, without))
    with pytest.raises(BrokenPackageError, match="pip download"):
        read_package(tmp_path / "nothing")


def test_check_compares_with_the_known_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package that names a known version and gives other figures fails the check, and says which differ."""
    assert main(["adapt", "bfcl", str(wheel(tmp_path)), "--check", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["figures"]["calls"] == 8
    assert {"calls", "questions", "turns"} <= set(told["differing"])
    assert told["problems"] == []


def test_check_of_an_unknown_version_compares_with_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --any-version figures are printed alone, and the check passes."""
    path = wheel(tmp_path, version="2027.1.1")
    assert main(["adapt", "bfcl", str(path), "--check", "--any-version"]) == 0
    assert "not known" in capsys.readouterr().out


def test_problems_fail_the_check_unless_partial(tmp_path: Path) -> None:
    """A broken entry makes the check fail, and --partial lets the others through."""
    broken = files(changed={QUESTIONS: files()[QUESTIONS] + "{"})
    path = str(wheel(tmp_path, broken, version="2027.1.1"))
    command = ["adapt", "bfcl", path, "--check", "--any-version"]
    assert (main(command), main([*command, "--partial"])) == (1, 0)
