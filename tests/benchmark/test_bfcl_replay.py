"""Replay of BFCL's ground truth, on classes of our own: new instances, own defaults, results at issue, the sandbox."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.sandbox import Sandbox
from asyncguard_benchmark.suites.bfcl.package import EXECUTORS, read_package
from asyncguard_benchmark.suites.bfcl.reading import Source, read_source
from asyncguard_benchmark.suites.bfcl.replay import dynamic_figures
from asyncguard_benchmark.suites.bfcl.worlds import worker
from tests.benchmark.builders_bfcl import CODE, ENTRIES, entry, files, wheel

TICKETS: dict[str, Any] = {
    "class": "TicketAPI",
    "module": "ticket_api",
    "scenario": {"count": 7},
    "setup": [],
}
TRADES: dict[str, Any] = {
    "class": "TradingBot",
    "module": "trading_bot",
    "scenario": {"seed": 5},
    "setup": [],
}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """The package of the builders."""
    return read_source(read_package(wheel(tmp_path)))


@pytest.fixture
def sandbox(source: Source) -> Iterator[Sandbox]:
    """A running worker."""
    with worker(source.package.unpacked()) as running:
        yield running


def _judged(sandbox: Sandbox, world: Any, truth: list[Any], made: list[Any]) -> Any:
    return sandbox.call("judge", {"world": world, "truth": truth, "made": made})


def test_the_replay_gives_every_figure(source: Source, sandbox: Sandbox) -> None:
    """All entries run, accept their own truth, and give single tasks that answer as in the whole entry."""
    found = dynamic_figures(source, sandbox)
    assert found.pop("digest") == "333ec8865929"
    assert found == {
        "entries replayed": 3,
        "entries with an error": 0,
        "which these are": "none",
        "entries whose own truth the verdict accepts": 3,
        "single tasks as in the full replay": 4,
    }


def test_a_call_that_raises_is_an_error_of_its_entry(tmp_path: Path) -> None:
    """An exception is the text of a result, and the replay counts the entry."""
    wrong = entry(9, {"Look.": ["read_ticket(id=99)", "read_ticket(id=1)"]}, ["TicketAPI"])
    source = read_source(read_package(wheel(tmp_path, files([*ENTRIES, wrong]))))
    with worker(source.package.unpacked()) as sandbox:
        found = dynamic_figures(source, sandbox)
    assert (found["entries with an error"], found["single tasks as in the full replay"]) == (1, 4)
    assert found["which these are"] == wrong[0]["id"]


@pytest.mark.parametrize("fault", ["raise KeyError('boom')", "raise SystemExit(3)", "[]['x']"])
def test_a_scenario_that_cannot_be_loaded_is_an_error_of_its_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    """The replay names it and does not end; its tasks are left out with the reason, and others are made."""
    load = 'self.count = scenario.get("count", 7)'
    code = CODE["ticket_api"]
    assert code.count(load) == 1
    bad = f"scenario.get('count') != 20 or exec({fault!r})\n        {load}"
    changed = files(changed={f"{EXECUTORS}/ticket_api.py": code.replace(load, bad)})
    path = str(wheel(tmp_path, changed, version="2027.1.1"))
    command = ["adapt", "bfcl", path, "--any-version", "--run-foreign-code"]
    assert main([*command, "--replay", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["figures"]
    assert (found["entries replayed"], found["which these are"]) == (3, "multi_turn_base_1")
    assert main([*command, "--provenance"]) == 0
    told = capsys.readouterr().err
    assert "2027_1_1-bfcl-1-TP-p is left out: its ground truth fails: Error" in told
    assert "the class cannot be set up" in told


def test_a_module_that_is_not_installed_is_told_by_each_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No entry can help it, and the message says what to install."""
    code = f"import mpmath_of_nowhere\n{CODE['ticket_api']}"
    changed = files(changed={f"{EXECUTORS}/ticket_api.py": code})
    for name, content in [*changed.items()]:
        changed[name.replace("_base", "_miss_param")] = content
    path = str(wheel(tmp_path, changed))
    allowed = [path, "--run-foreign-code"]
    for command in (
        ["bfcl", *allowed, "--replay"],
        ["bfcl", *allowed, "--provenance"],
        ["bfcl-missions", *allowed, "--agents", "oracle", "--out", str(tmp_path / "runs.jsonl")],
    ):
        assert main(["adapt", *command]) == 1
        assert "a class of the package cannot be imported: No module" in capsys.readouterr().err


def test_mutable_defaults_do_not_leak(sandbox: Sandbox) -> None:
    """A tool that changes its own default answers alike in each instance and each call."""
    calls = [["open_ticket", {"title": "A"}], ["open_ticket", {"title": "B"}]]
    for _ in range(2):
        found = _judged(sandbox, TICKETS, calls, calls)
        assert found["truth"] == found["made"]
        assert '"tags": ["B"]' in found["made"][1]


@pytest.mark.parametrize("seed", ["0", "1", "77"])
def test_texts_of_sets_do_not_depend_on_the_process(source: Source, seed: str) -> None:
    """The worker has one seed of hashes, whatever this process has."""
    code = source.package.unpacked()
    with worker(code) as one, worker(code, PYTHONHASHSEED=seed) as other:
        texts = [_judged(each, TICKETS, [["colours", {}]], [])["truth"] for each in (one, other)]
    assert (texts[0] == texts[1]) == (seed == "0")


def test_states_are_compared_by_equality_of_objects(sandbox: Sandbox) -> None:
    """Equal notes are equal states; another note names its attribute, and no value of it."""
    truth = [["open_ticket", {"title": "A"}]]
    assert _judged(sandbox, TICKETS, truth, truth)["differing"] == []
    other = _judged(sandbox, TICKETS, truth, [["open_ticket", {"title": "B"}]])
    assert other["differing"] == ["notes"]
    assert "count" in _judged(sandbox, TICKETS, truth, [])["differing"]


def test_a_harmless_retry_that_draws_shifts_the_generator(sandbox: Sandbox) -> None:
    """An order more makes all later numbers others: the flag says so, and the private attribute is named apart."""
    order = ["order", {"symbol": "A", "price": 1.0}]
    found = _judged(sandbox, TRADES, [order], [order, order])
    assert found["generator"]
    assert (found["differing"], found["private"]) == (["orders"], ["_random"])
    looked = _judged(sandbox, TRADES, [order], [order, ["price", {"symbol": "A"}]])
    assert (looked["differing"], looked["private"], looked["generator"]) == ([], ["_seen"], False)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("read_ticket", {"id": 99}, "no ticket 99"),
        ("read_ticket", {"id": "8"}, "not supported between instances of 'str' and 'int'"),
        ("read_ticket", {"number": 8}, "unexpected keyword argument 'number'"),
        ("close", {}, "name 'close' is not defined"),
        ("_load_scenario", {"scenario": {}}, "name '_load_scenario' is not defined"),
        ("__init__", {}, "name '__init__' is not defined"),
        ("leave", {}, "3"),
        ("dial", {}, "refused: socket."),
    ],
)
def test_whatever_a_tool_raises_is_a_result(
    sandbox: Sandbox, tool: str, arguments: dict[str, Any], text: str
) -> None:
    """Wrong types and names reach Python; private methods cannot be called; ends and sockets are refusals."""
    (said,) = _judged(sandbox, TICKETS, [[tool, arguments]], [])["truth"]
    assert said.startswith("Error during execution: ")
    assert text in said


def test_results_are_texts_of_the_moment(tmp_path: Path) -> None:
    """A result that is a reference to the state does not show what happens later."""
    code = CODE["ticket_api"] + "\n    def notes_now(self):\n        return self.tags\n"
    code = code.replace("self.count += 1", "self.count += 1; self.tags.append(title)")
    code = code.replace('"" \n', "").replace('self.title = [], 0, ""', "self.tags = [], 0, []")
    package = read_package(wheel(tmp_path, files(changed={f"{EXECUTORS}/ticket_api.py": code})))
    calls = [["notes_now", {}], ["open_ticket", {"title": "A"}], ["notes_now", {}]]
    with worker(package.unpacked()) as sandbox:
        texts = _judged(sandbox, TICKETS, calls, [])["truth"]
    assert (texts[0], texts[2]) == ("[]", "['A']")


def test_nothing_runs_without_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A replay is refused, and the message says which option allows it."""
    assert main(["adapt", "bfcl", str(wheel(tmp_path)), "--replay"]) == 1
    assert "--run-foreign-code" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()


def test_a_changed_cache_is_written_again(source: Source) -> None:
    """A module that was changed in the cache is replaced before it runs."""
    module = source.package.unpacked() / "bfcl_eval" / EXECUTORS / "ticket_api.py"
    module.write_text("raise SystemExit\n", encoding="utf-8")
    with worker(source.package.unpacked()) as sandbox:
        assert _judged(sandbox, TICKETS, [["read_ticket", {"id": 1}]], [])["truth"]
