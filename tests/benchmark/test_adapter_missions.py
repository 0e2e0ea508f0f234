"""``bench adapt mmtb`` and ``c3``: dialogues in the published form are checked, re-scored and played."""

import csv
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.json_lines import LONGEST_TEXT
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.plan import FromResult, FromText, Given
from asyncguard_benchmark.suites.missions.bundled.bundle import bundles
from asyncguard_benchmark.suites.missions.bundled.export import official_row
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.foreign.download import (
    ChangedDownloadError,
    Download,
    NoDownloadError,
)
from asyncguard_benchmark.suites.missions.foreign.schemas import repaired
from asyncguard_benchmark.suites.missions.played_rows import (
    MissionFile,
    PlayedRow,
    read_played,
)
from asyncguard_benchmark.suites.missions.playing.case import Case, NotLiveError
from asyncguard_benchmark.suites.missions.playing.foreign_shelf import DownloadShelves
from asyncguard_benchmark.suites.missions.playing.grid import Cell, play
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations
from asyncguard_benchmark.suites.missions.scorers.verdict import judge
from asyncguard_benchmark.suites.missions.terms import Letter
from tests.benchmark.builders_dialogues import node, saved_rows, workshop

Row = dict[str, Any]
Json = Callable[..., Any]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Json:
    """`bench adapt mmtb` with arguments: its exit status, answer and notices."""

    def called(*arguments: object) -> tuple[int, Any, str]:
        status = main(["adapt", "mmtb", *map(str, arguments), "--json"])
        said = capsys.readouterr()
        return status, json.loads(said.out) if said.out else None, said.err

    return called


def download(path: Path, language: Any = "en") -> Download:
    """The file as a run names it."""
    return Download.at(path, "mmtb", language)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with the one dialogue."""
    return saved_rows(tmp_path / "data.jsonl", workshop())


# -- check -------------------------------------------------------------------------------------------------------------


def test_a_check_counts_beside_the_published_figures(file: Path, run: Json) -> None:
    """Other counts are told with both numbers, and do not fail the check."""
    status, said, told = run(file, "--check")
    assert (status, said["problems"], said["warnings"]) == (0, [], [])
    assert said["counts"]["missions"] == 4
    assert said["counts"]["letter c"] == 1
    assert said["counts"]["subtype S"] == 1
    assert "missions: 4, published 1024" in said["differing"]
    assert "letter c: 1, published 256" in told


def broken() -> Row:
    """A dialogue with five faults."""
    row = workshop(id="torn", type="单多反", env_info="2026-13-45 00:00:00")
    answers = row["english_answer_list"]
    answers[0][0]["dependency_list"] = [1]
    answers[1][1]["action"]["name"] = "no_such_tool"
    answers[2][0]["dependency_list"] = [9]
    return row


def test_a_check_lists_every_fault_with_file_line_and_id(tmp_path: Path, run: Json) -> None:
    """All those of one dialogue, and those of the lines around it."""
    path = saved_rows(tmp_path / "data.jsonl", broken(), workshop(), workshop())
    with path.open("a", encoding="utf-8") as end:
        end.write(json.dumps(workshop(id="cut"))[:200])
    status, said, _ = run(path, "--check")
    assert status == 1
    problems = "\n".join(said["problems"])
    places = {
        f"{path.absolute()}:1 (torn).type: has 3 missions, and task has 4",
        f"{path.absolute()}:1 (torn).env_info: 2026-13-45 00:00:00 is not a time",
        f"{path.absolute()}:1 (torn).answer_list[0][0].dependency_list: nodes [0, 1] depend",
        f"{path.absolute()}:1 (torn).answer_list[1][1].action.name: the tool 'no_such_tool'",
        f"{path.absolute()}:1 (torn).answer_list[2][0].dependency_list: node 0 depends on node 9",
        f"{path.absolute()}:3 (workshop).id: the dialogue at {path.absolute()}:2 (workshop) has",
        f"{path.absolute()}:4: expected a JSON object",
    }
    assert {each for each in places if each not in problems} == set()
    assert len(said["problems"]) == len(places)
    assert run(path, "--check", "--partial")[0] == 0


def cyclic(row: Row) -> None:
    """Make two calls need each other."""
    row["english_answer_list"][1][0]["dependency_list"] = [1]


def long_field(row: Row) -> None:
    """Write ten megabytes into one text."""
    row["english_tools"][0]["function"]["description"] = "x" * 10_000_000


def self_edge(row: Row) -> None:
    """Make a call need itself."""
    row["english_answer_list"][1][1]["dependency_list"] = [1]


def unpaired(row: Row) -> None:
    """Write half a character."""
    row["english_task"][0] += "\ud800"


def wide(row: Row) -> None:
    """Write a number that no checkpoint holds."""
    row["english_answer_list"][2][1]["action"]["arguments"]["after"] = 10**40


def together(row: Row) -> None:
    """Let a question be ready beside a call."""
    row["english_answer_list"][2][1]["dependency_list"] = []


BROKEN: dict[str, tuple[Callable[[Row], Any], str]] = {
    "cycle": (cyclic, "depend on each other in a circle"),
    "long": (long_field, f"at most {LONGEST_TEXT:,} are read"),
    "self": (self_edge, "node 1 depends on itself"),
    "half": (unpaired, "half a character"),
    "wide": (wide, "answer_list: holds a whole number of more than 64 bits"),
    "beside": (together, "is ready together with node 1"),
    "twin": (lambda row: row.pop("english_tools"), "lacks the English english_tools"),
    "field": (lambda row: row.pop("task_ids"), "task_ids: Field required"),
    "letter": (lambda row: row.update(type="单多反Z"), "unknown action types ['Z']"),
    "relation": (lambda row: row.update(turn_subtypes=["x"] * 3), "unknown relation 'x'"),
    "repr": (
        lambda row: row.update(english_answer_list="__import__('os').system('touch executed')"),
        "answer_list: Input should be a valid list",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_dialogue_is_named_and_the_others_play(
    name: str, tmp_path: Path, run: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is played unless --partial is given, which says what it leaves out; nothing is executed."""
    monkeypatch.chdir(tmp_path)
    spoil, complaint = BROKEN[name]
    bad = workshop(id="bad")
    spoil(bad)
    path = saved_rows(tmp_path / "data.jsonl", bad, workshop())
    playing = (path, "--agents", "oracle", "--players", "plain", "--jobs", 1, "--out", "runs.jsonl")
    status, _, told = run(*playing)
    assert status != 0
    assert f"{path.absolute()}:1 (bad)" in told
    assert complaint in told
    assert "--partial goes on" in told
    assert not Path("runs.jsonl").exists()
    status, said, told = run(*playing, "--partial")
    assert status == 0
    assert "left out: " in told
    assert said["conditions"][0]["challenges"]["c2"]["missions"] == 3
    assert not Path("executed").exists()


def test_a_table_of_cells_names_the_row_by_its_id(tmp_path: Path, run: Json) -> None:
    """C3's CSV: a cell with code is refused, not run."""
    cells = {name: json.dumps(value) for name, value in workshop().items()}
    bad = {**cells, "id": "bad", "english_task": "[print('x')]"}
    with (tmp_path / "C3-Bench.csv").open("w", encoding="utf-8", newline="") as table:
        writer = csv.DictWriter(table, cells)
        writer.writeheader()
        writer.writerows([bad, cells])
        writer.writerow({**cells, "id": "set", "english_task": "[{1}]"})
        writer.writerow({**cells, "id": "tuples", "type": "('单', '多', '反', '拒')"})
    assert main(["adapt", "c3", str(tmp_path), "--check"]) == 1
    reading = Download.at(tmp_path, "c3", "en").read()
    code, literal = map(str, reading.problems)
    assert "C3-Bench.csv:2 (bad).english_task: expected JSON or a Python literal" in code
    assert "C3-Bench.csv:4 (set).english_task: holds what JSON cannot write" in literal
    assert [each.id for each in reading.found] == ["workshop", "tuples"]


def test_the_published_name_is_found_in_a_folder(tmp_path: Path) -> None:
    """JSON lines before the table; an empty folder is told what is looked for."""
    with pytest.raises(NoDownloadError, match=r"holds none of C3-Bench.jsonl, C3-Bench.csv"):
        Download.at(tmp_path, "c3", "en")
    for name in ("C3-Bench.csv", "C3-Bench.jsonl"):
        (tmp_path / name).write_text("", "utf-8")
    assert Download.at(tmp_path, "c3", "en").path.name == "C3-Bench.jsonl"
    with pytest.raises(NoDownloadError, match="neither a file nor a folder"):
        Download.at(tmp_path / "nowhere", "mmtb", "en")


# -- what is made of a dialogue ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ({"type": "float"}, {"type": "number"}),
        ({"type": "int|float"}, {"type": "integer"}),
        ({"type": "complex_string"}, {"type": "string"}),
        ({"type": "UUID"}, {"type": "string"}),
        ({"type": "list of dictionaries"}, {"type": "object"}),
        ({"type": "enum['a', \"b\"]"}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": ["string", "null", 3]}, {"type": ["string", "null"]}),
        ({"type": "date", "required": True, "minItems": "2", "enum": []}, {}),
        ({"type": "string", "pattern": "(?P<"}, {"type": "string"}),
        (
            {"type": "object", "properties": {"a": {"type": "int", "default": 1}, "b": 3}},
            {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}},
        ),
        (
            {"type": "array", "items": {"type": "dict", "required": ["x", "x", 1]}},
            {"type": "array", "items": {"type": "object", "required": ["x"]}},
        ),
    ],
)
def test_loose_types_are_repaired(said: Row, made: Row) -> None:
    """Nested requirements and defaults are kept; what is not understood asks for nothing."""
    assert repaired({"properties": {"p": said}})["properties"] == {"p": made}


def test_values_are_looked_for_where_the_conversation_tells_them(file: Path) -> None:
    """Message, result, history, and the reply to the question that asks for it; no plan holds what a text tells."""
    (found,) = DownloadShelves(download(file)).stands().values()
    value = {
        (k, number, leaf.at): leaf.value
        for k in range(4)
        for number, each in enumerate(found.plan(k, History.UPTA).nodes)
        for leaf in each.leaves
    }
    assert value[0, 0, "/customer"] == Given("Ms Adeyemi")
    assert value[1, 0, "/task_id"] == Given(77)
    assert value[1, 1, "/order"] == FromResult(node=0, pointer="/order/id")
    assert value[1, 1, "/hours"] == Given(2.5)
    order, day = value[2, 1, "/order"], value[2, 1, "/day"]
    assert isinstance(order, FromText)
    assert (order.text, order.mission) == (1, 0)
    job = value[2, 1, "/after"]
    assert isinstance(job, FromText)
    assert (job.text, job.mission, job.number) == (2, 1, True)
    assert isinstance(day, FromText)
    assert (day.text, day.mission) == (6, 2)
    assert "2026" not in repr(day)
    # The short history has two texts more.
    short = found.plan(2, History.UA)
    assert (short.texts, found.plan(2, History.UPTA).texts) == (7, 5)


def played(dialogue: str, source: Download, agent: str, **how: Any) -> list[PlayedRow]:
    """Play all missions of a dialogue and read them back from a file."""
    found = DownloadShelves(source).stands()[dialogue]
    rows = []
    for k, history in ((k, history) for k in range(4) for history in History):
        case = Case(
            dialogue=dialogue,
            mission=k,
            history=history,
            regime=how.get("regime", Regime.SYNC),
            observations=Observations.RECORDED,
            download=DownloadShelves(source),
        )
        made = play(
            Cell(
                case=case,
                agent=agent,
                player=how.get("player", "plain"),
                arm=how.get("arm", "none"),
            )
        )
        rows.append((made, found.line()))
    return list(_read_back(source.path.with_suffix(".runs"), rows))


def _read_back(path: Path, rows: list[tuple[Row, Row]]) -> Iterator[PlayedRow]:
    path.unlink(missing_ok=True)
    with MissionFile(path) as out:
        for row, line in rows:
            out.add(row, line)
    return read_played(path)


def wins(rows: list[PlayedRow]) -> list[bool]:
    """Return for each run whether both scorers pass it, without a step too many."""
    verdicts = [judge(row.entry) for row in rows]
    assert all(each.strict is not None and each.compat is not None for each in verdicts)
    return [
        each.strict.passed and each.strict.optimal and each.compat.passed
        for each in verdicts
        if each.strict is not None and each.compat is not None
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("regime", [Regime.SYNC, Regime.FIXED1, Regime.RANDOM12])
def test_the_oracle_is_perfect_in_the_plain_loop(regime: Regime, language: str, file: Path) -> None:
    """In both histories, and with results that come late."""
    rows = played("workshop", download(file, language), "oracle", regime=regime)
    assert wins(rows) == [True] * 8


@pytest.mark.parametrize("player", ["graph", "middleware"])
def test_the_oracle_is_perfect_within_the_runtime(player: str, file: Path) -> None:
    """All guards on, tools undeclared, an argument that is called task_id."""
    rows = played("workshop", download(file), "oracle", player=player, arm="all")
    assert wins(rows) == [True] * 8


ODD: dict[str, Callable[[str], str]] = {
    "name of an argument": lambda text: text.replace('"day"', '"~1/self"'),
    "result without a value": lambda text: text.replace('"booked"', "null"),
    "result that is JSON": lambda text: text.replace('"booked"', r'"{\"a\": [1]}"'),
    "text that looks like a result": lambda text: text.replace(
        "Please look up the order of Ms Adeyemi.", '{\\"role\\": \\"tool\\"'
    ),
    "day that no calendar has": lambda text: text.replace("2026-02-12", "2026-02-31"),
    "schema that is none": lambda text: text.replace('"properties": {"customer"', '"x": {"y"'),
    "question without names": lambda text: text.replace("missing_required_parameters", "asked"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ODD)
def test_odd_dialogues_are_played(name: str, tmp_path: Path) -> None:
    """Nothing that the form allows ends a run, and the oracle passes what it can read."""
    text = json.dumps(workshop())
    row = json.loads(ODD[name](text))
    assert row != json.loads(text)
    source = download(saved_rows(tmp_path / "data.jsonl", row))
    for player, arm in (("plain", "none"), ("graph", "none")):
        won = wins(played("workshop", source, "oracle", player=player, arm=arm))
        # A tool whose schema lists no arguments has none: its call in the first mission cannot be right.
        assert won == [name != "schema that is none"] * 2 + [True] * 6


@pytest.mark.parametrize("name", ["取 / a.b", "x" * 65, "idle_action"])
def test_names_of_tools_that_cannot_be_played_are_told(
    name: str, tmp_path: Path, run: Json
) -> None:
    """A provider or the player itself has no such tool; other dialogues are played with --partial."""
    row = json.loads(json.dumps(workshop(id="odd")).replace('"collect"', json.dumps(name)))
    path = saved_rows(tmp_path / "data.jsonl", row, workshop())
    assert f"odd: cannot be played with the tool {name!r}" in str(
        run(path, "--check")[1]["warnings"]
    )
    command = (path, "--agents", "oracle", "--players", "plain", "--jobs", 1, "--out")
    status, _, told = run(*command, tmp_path / "runs.jsonl")
    assert (status, "--partial plays the others" in told) == (1, True)
    status, said, told = run(*command, tmp_path / "runs.jsonl", "--partial")
    assert said["conditions"][0]["challenges"]["c2"]["missions"] == 3
    assert f"left out: odd: cannot be played with the tool {name!r}" in told


def test_exported_missions_play_as_well(tmp_path: Path) -> None:
    """The export of the bundled suite, read back: no source is stated, and the oracle passes all the same."""
    chosen = [(bundle, bundle.dialogues[0]) for bundle in bundles()]
    path = saved_rows(tmp_path / "all.jsonl", *(official_row(*each) for each in chosen))
    for _, each in chosen:
        assert wins(played(each.id, download(path), "oracle")) == [True] * 8


def test_mistakes_cost_what_they_should(file: Path) -> None:
    """An agent that does not ask loses the mission that has to ask, one that forgets the one with the older value."""
    lost = {
        agent: {row.key.mission for row, won in zip(rows, wins(rows), strict=True) if not won}
        for agent in ("inventing", "forgetful", "serial", "calls-in-chat")
        for rows in [played("workshop", download(file), agent)]
    }
    assert lost == {"inventing": {2}, "forgetful": {2}, "serial": set(), "calls-in-chat": {3}}


def test_calls_get_the_results_on_record(file: Path) -> None:
    """Whatever their arguments; a text is told as the history tells it, and prompts hold the right time."""
    (first, *_) = played("workshop", download(file), "oracle")
    told = [each["content"] for each in first.value["messages"] if each["role"] == "tool"]
    assert told == ["order V-310, a viola"]
    case = Case(
        dialogue="workshop", mission=1, history=History.UA, download=DownloadShelves(download(file))
    )
    assert "2026-02-10 10:30:00 Tuesday" in case.system()
    with pytest.raises(NotLiveError, match="play it as recorded"):
        case.begun()


def test_what_guards_and_scorers_are_told(file: Path) -> None:
    """The message of the mission itself, not the first of its block; the results that values come from."""
    rows = played("workshop", download(file), "oracle")
    second = next(each for each in rows if each.key.mission == 1 and each.key.history == "ua")
    assert second.entry.said[-1] == "Read job 77 and quote 2.5 hours for what it is about."
    assert [each.uses for each in second.entry.graph.nodes] == [frozenset(), {0}, frozenset()]
    assert second.entry.letter is Letter.MULTI
    assert second.entry.relation == "ellipsis"


def test_a_file_that_changes_is_not_played(file: Path) -> None:
    """Other processes read the file again, and must not play another one."""
    source = download(file)
    saved_rows(file, workshop(id="other"))
    with pytest.raises(ChangedDownloadError, match="run the command again"):
        source.read()


# -- the command -------------------------------------------------------------------------------------------------------


def test_runs_go_on_and_are_scored_alone(
    file: Path, tmp_path: Path, run: Json, capsys: Any
) -> None:
    """A second time nothing is played; `missions score` says the same without the download."""
    out = tmp_path / "runs.jsonl"
    command = (file, "--agents", "oracle,inventing", "--arms", "none", "--players", "plain")
    status, said, _ = run(*command, "--jobs", 1, "--out", out)
    assert status == 0
    rates = {
        each["agent"]: each["challenges"]["c2"]["scorers"]["strict"]["SR"]["value"]
        for each in said["conditions"]
    }
    assert rates == {"oracle": 1.0, "inventing": pytest.approx(2 / 3)}
    lines = out.read_bytes()
    assert run(*command, "--jobs", 1, "--out", out)[1] == said
    assert out.read_bytes() == lines
    file.unlink()
    assert main(["missions", "score", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conditions"] == said["conditions"]


def test_runs_of_another_download_are_not_mixed(file: Path, tmp_path: Path, run: Json) -> None:
    """The same ids with other missions are refused, and the message says what to do."""
    out = tmp_path / "runs.jsonl"
    command = (file, "--agents", "oracle", "--players", "plain", "--jobs", 1, "--out", out)
    assert run(*command)[0] == 0
    other = workshop()
    other["english_answer_list"][0][0]["observation"] = "order V-999"
    saved_rows(file, other)
    status, _, told = run(*command)
    assert status != 0
    assert "play into another file with --out" in told


@pytest.mark.slow
def test_arms_are_compared_on_the_same_missions(file: Path, tmp_path: Path, run: Json) -> None:
    """As in the bundled missions, in two processes; the guard mends what it should."""
    asked = ("--agents", "stand-in", "--arms", "none,all", "--challenges", "c2", "--jobs", 2)
    status, said, _ = run(file, *asked, "--ablate", tmp_path / "ablation")
    assert status == 0
    assert said["settings"]["suite"].startswith("mmtb, ")
    (effect,) = [each for each in said["studies"][0]["effects"] if each["against"] == "none"]
    assert (effect["arm"], effect["pairs"]) == ("all", 3)
    assert effect["difference"]["value"] == pytest.approx(100 / 3)
    assert (tmp_path / "ablation" / "findings.json").is_file()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ((), "--check, --rescore FILE, or --agents"),
        (("--agents", "oracle", "--arms", "nonsense"), "nonsense"),
        (("--agents", "oracle", "--patterns", "tttt"), "no dialogue of the patterns tttt"),
        (("--agents", "oracle", "--ablate", "d", "--arms", "ask-hint"), "without --ablate"),
    ],
)
def test_what_cannot_be_done_is_said(
    asked: tuple[str, ...], told: str, file: Path, run: Json
) -> None:
    """At once, and with what to do."""
    status, _, complaint = run(file, *asked)
    assert status != 0
    assert told in complaint


# -- result files ------------------------------------------------------------------------------------------------------


def result(mission: int, **fields: Any) -> Row:
    """A row of a run that makes the gold's calls one by one."""
    row = workshop()
    gold = row["english_answer_list"][mission]
    steps = [
        {"content": None, "tool_calls": [{"function": {**each["action"]}}]}
        if each["action"]["name"] in ("find_order", "read_order", "quote", "collect")
        else {"content": "Which one?" if "user_input" in each else "Done.", "tool_calls": None}
        for each in gold
    ]
    return {
        "id": "workshop",
        "idx": mission,
        "type": row["type"][mission],
        "task": row["english_task"][mission],
        "tools": row["english_tools"],
        "answer_list": deepcopy(gold),
        "predict_result": [{"step": n, **step} for n, step in enumerate(steps)],
        "predict_label": "correct",
        **fields,
    }


def test_result_files_are_judged_beside_the_download(file: Path, tmp_path: Path, run: Json) -> None:
    """Patterns and relations are taken from it; missions without a row are told."""
    wrong = result(2)
    wrong["predict_result"][1]["tool_calls"][0]["function"]["arguments"] = {"order": "V-310"}
    results = saved_rows(tmp_path / "gpt.jsonl", result(1), wrong)
    status, said, told = run(file, "--rescore", results)
    assert status == 0
    rates = {name: each["SR"]["value"] for name, each in said["scorers"].items()}
    assert rates == {"strict": 0.5, "compat": 0.5}
    by = said["scorers"]["strict"]["by"]
    assert {name: each["value"] for name, each in by["relation"].items()} == {
        "ellipsis": 1.0,
        "long memory": 0.0,
    }
    assert {name: each["value"] for name, each in by["pattern"].items()} == {"sm": 1.0, "smc": 0.0}
    assert "2 of 4 missions of the download have no row" in told


def test_results_of_another_gold_are_told(file: Path, tmp_path: Path, run: Json) -> None:
    """An unknown id, a mission too many, another letter, another call: all with the file and the row."""
    other = result(1)
    other["answer_list"][1]["action"]["arguments"]["hours"] = 3
    longer = result(2)
    longer["answer_list"].insert(1, node(1, "read_order", {"task_id": 1}, 0))
    for place, each in enumerate(longer["answer_list"]):
        each["idx"] = place
        each["dependency_list"] = [place - 1] if place else []
    rows = [result(0), result(0, id="x"), result(3, idx=4), result(3, type="单"), other, longer]
    results = saved_rows(tmp_path / "gpt.jsonl", *rows)
    status, _, told = run(file, "--rescore", results)
    assert status != 0
    for complaint in (
        "gpt.jsonl (x, idx 0): the download has no readable dialogue of this id",
        "(workshop, idx 4): the dialogue has 4 missions",
        "(workshop, idx 3): the action type is s, in the download t",
        "(workshop, idx 1): answer_list[1] is not the download's",
        "(workshop, idx 2): answer_list has 4 nodes, in the download 3",
        "--partial leaves such lines out",
    ):
        assert complaint in told
    status, said, _ = run(file, "--rescore", results, "--partial")
    assert (status, said["missions"], said["partial"]) == (0, 1, True)


def test_runs_of_ours_are_sent_to_their_command(file: Path, tmp_path: Path, run: Json) -> None:
    """They need no download."""
    out = tmp_path / "runs.jsonl"
    run(file, "--agents", "oracle", "--players", "plain", "--jobs", 1, "--out", out)
    status, _, told = run(file, "--rescore", out)
    assert status != 0
    assert f"asyncguard bench missions score {out}" in told
