"""Every example is run, and what it prints has to show what it says that it shows."""

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Run = Callable[[str], str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs an example as a script and returns what it printed."""
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run_example(name: str) -> str:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out

    return run_example


@cache
def process_run(name: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a process of its own, once: it starts others, and two tests look at what it says."""
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_five_lines_finish_two_tasks(run: Run) -> None:
    """Both tasks are answered, and the slow one cost no extra turn while it ran."""
    printed = run("01_five_lines")
    assert "Lisbon has 21 degrees" in printed
    assert "Hotel Mira" in printed
    assert "turns of the model: 3" in printed
    assert printed.count("is closed after {'done': 1}") == 2


def test_declared_tools_keep_the_order_that_matters(run: Run) -> None:
    """The read of the written file waits for the write; the other read does not."""
    done = re.findall(r"s  (\w+ \S+ \w+)", run("02_declare_tools"))
    assert (
        done.index("read b.txt begins")
        < done.index("write a.txt ends")
        < done.index("read a.txt begins")
    )


def test_the_middleware_refuses_a_guess(run: Run) -> None:
    """The guess is never booked, the real flight is."""
    printed = run("03_middleware")
    assert re.findall(r"^booking (\S+)$", printed, re.MULTILINE) == ["TP-713"]
    assert 'flight="LH-100" was found nowhere' in printed


def test_a_person_is_asked_about_each_call(run: Run) -> None:
    """An approved call is made, a refused one is not."""
    printed = run("04_approval")
    assert len(re.findall(r"^question: delete_account", printed, re.MULTILINE)) == 2
    assert re.findall(r"^deleted the account of (\w+)$", printed, re.MULTILINE) == ["ann"]
    assert "There are 42 accounts" in printed.splitlines()[-1]


def test_an_external_result_needs_its_token(run: Run) -> None:
    """The run parks, a guessed token is refused, and the real delivery is the call's result."""
    printed = run("05_external_results")
    assert "parked: [{'task': 'main', 'call': 'ask_notary#1'}]" in printed
    assert "refused: No pending external call" in printed
    assert "result: certified as no. 815" in printed
    assert "666" not in printed


def test_failures_are_repeated_replaced_or_in_doubt(run: Run) -> None:
    """Two retries, one sibling, and a payment that is not repeated; the model took two turns."""
    printed = run("06_fallback_and_retry")
    assert [line for line in printed.splitlines() if line.startswith("read_rates")] == [
        "read_rates#1: retry",
        "read_rates#1: retry",
        "read_rates#1: done",
    ]
    assert "read_live#1: fallback\n" in printed
    assert "in doubt: ['main/pay#1']" in printed
    assert "turns of the model: 2" in printed


def test_the_log_tells_what_happened_and_no_payload(run: Run) -> None:
    """Events have stable names; results stay out."""
    printed = run("07_structured_log")
    assert "rejected by: clarification" in printed
    assert "the secret was logged: False" in printed
    assert int(re.findall(r"events: (\d+)", printed)[0]) == len(
        re.findall(r"^ +\d+\.\d{3}  \w+", printed, re.MULTILINE)
    )


def test_references_save_model_turns(run: Run) -> None:
    """A chain of three calls runs from one message, with real values."""
    printed = run("08_operand_references")
    assert "reserve TP-713 12A" in printed
    assert "turns of the model: 2" in printed


def test_the_timeline_shows_every_task(run: Run) -> None:
    """Three tasks overlap: together they take less than one after the other, and not much more than the slowest."""
    printed = run("09_several_tasks_timeline")
    for dish in ("soup", "roast", "cake"):
        assert re.search(rf"^{dish} +━", printed, re.MULTILINE)
    assert "9 calls · 0 rejected" in printed
    serial, slowest, together = map(float, re.findall(r": +([\d.]+) s", printed))
    assert slowest <= together < 1.1 * slowest < serial


def test_one_switch_makes_the_difference(run: Run) -> None:
    """Without the guard against early calls the flight that was guessed is booked."""
    printed = run("10_ablate_one_guard")
    assert re.search(r"all guards: +\['TP-713'\]", printed)
    assert re.search(r"without premature: +\['LH-100'\]", printed)


def test_the_test_of_an_agent_does_not_wait(run: Run) -> None:
    """An hour of tool time takes no time."""
    printed = run("11_test_your_agent")
    assert "virtual time: 3600 s" in printed
    assert float(re.findall(r"real time: +([\d.]+)", printed)[0]) < 60


def test_the_log_says_how_faults_were_diagnosed_and_recovered(run: Run) -> None:
    """Symptom, diagnosis, actions and outcome of a price that sources deny and of an outage; the model is told."""
    printed = run("12_recover_from_faults").splitlines()
    assert [line for line in printed if line.startswith("ask_shop#1")] == [
        "ask_shop#1 call_diagnosed ['disagreement'] conflict contradicted",
        "ask_shop#1 call_recovered cross_check",
        "ask_shop#1 call_recovered cross_check",
        "ask_shop#1 call_retired done",
    ]
    assert [line for line in printed if line.startswith("ask_shop#2")] == [
        "ask_shop#2 call_diagnosed ['EOFError'] execution broken",
        "ask_shop#2 call_recovered fallback",
        "ask_shop#2 call_retired done",
    ]
    mark = next(line for line in printed if line.startswith("[asyncguard:"))
    assert "2 of 3 agree (ask_archive, ask_wholesaler)" in mark


@pytest.mark.slow
def test_a_killed_process_repeats_nothing() -> None:
    """Each effect happened once; the payment is in doubt until a person resolves it."""
    printed = process_run("13_survive_a_crash").stdout
    assert printed.startswith("killed: True\nin doubt: ['main/pay#1']\ntold: <result-")
    assert 'call="pay#1" tool="pay" status="resolved">\npaid 268, receipt 815\n' in printed
    assert printed.splitlines()[-1] == "effects: ['booked TP-713', 'paid 268']"


def test_a_guard_of_ones_own_rejects_defers_and_may_fail(run: Run) -> None:
    """One letter is refused, one waits for the first; the failures of the other rule are told and change nothing."""
    printed = run("15_own_guard").splitlines()
    assert printed.count("send_letter#2: call_rejected by letters") == 1
    assert printed.count("send_letter#3: call_deferred by letters") == 1
    assert sum("call_objected by broken" in line for line in printed) == 4
    assert [line for line in printed if line.startswith("sent to")] == [
        "sent to Ms Brown",
        "sent to Ms White",
    ]


@pytest.mark.slow
def test_a_delivery_reaches_a_thread_without_a_process() -> None:
    """It is kept until the next process comes; the second one with the same token is refused."""
    printed = process_run("14_deliver_from_outside").stdout.splitlines()
    assert printed[:2] == [
        "killed: True",
        "delivery: 0 Delivered and stored. A parked thread continues when it is run again.",
    ]
    assert printed[2].startswith("delivery: 1 asyncguard: No pending external call has this token")
    assert printed[3:] == [
        "told: certified as no. 815",
        "answer: The deed is certified as no. 815.",
    ]


def test_every_example_is_here() -> None:
    """Every example is run by a test."""
    run_here = set(re.findall(r'run\("(\w+)"\)', Path(__file__).read_text()))
    assert run_here == {path.stem for path in EXAMPLES.glob("*.py")}
    assert all(
        len(path.read_text().splitlines()) <= 80 and path.read_text().startswith('"""')
        for path in EXAMPLES.glob("*.py")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["13_survive_a_crash", "14_deliver_from_outside"])
def test_a_crash_leaves_nothing_to_complain_about(name: str) -> None:
    """The journal is closed before its folder goes; else the process says at its end that nothing was written."""
    assert process_run(name).stderr == ""
