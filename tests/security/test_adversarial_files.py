"""Files of the benchmark that an adversary wrote: no request leaves for a host that the command line does not name."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncguard_benchmark import Suite, shipped_compositions
from asyncguard_benchmark.commands import main as bench
from asyncguard_benchmark.commands.options import parser
from asyncguard_benchmark.commands.resume_grants import HARMLESS, REPLACED, SAMPLING
from asyncguard_benchmark.harness.arms import NONE
from asyncguard_benchmark.harness.campaign import Grid, play
from asyncguard_benchmark.harness.episode import episode_to_json
from asyncguard_benchmark.harness.journal import Journal
from asyncguard_benchmark.harness.registry import AgentSpec
from tests.support.openai_policy import Failure
from tests.support.openai_server import OpenAIServer

HERE = shipped_compositions(Suite.LITE)[0].id
MODEL = [
    "run",
    "--model",
    "openai:small",
    "--suite",
    "lite",
    "--compositions",
    HERE,
    "--arms",
    "none",
]
OUTSIDE = frozenset({"agents", "base_url", "guard", "model", "model_option", "prices", "replay"})
"""Arguments of `bench run` that can name a host, a path or code."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A server of an adversary, and the user's key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")  # nothing listens there
    with OpenAIServer(lambda _: Failure(status=401)) as started:
        yield started


def hostile_options(address: str) -> dict[str, list[str]]:
    """Return the ways in which a command line of `bench run` can name a host."""
    options = {
        name: f"{name}={address}"
        for name in (
            "base_url",
            "openai_api_base",
            "api_base",
            "endpoint",
            "azure_endpoint",
            "openai_proxy",
            "proxy",
            "openai_api_type",
            "model_provider",
            "http_client",
            "http_async_client",
            "http_socket_options",
            "custom_get_token_ids",
            "callbacks",
            "cache",
            "rate_limiter",
            "api_key",
            "openai_api_key",
        )
    }
    nested = {
        "default_headers": {"host": address},
        "default_query": {"to": address},
        "extra_body": {"url": address},
        "model_kwargs": {"base_url": address},
        "client_options": {"api_endpoint": address},
        "configurable_fields": "any",
    }
    options |= {name: f"{name}={json.dumps(value)}" for name, value in nested.items()}
    return {
        "--base-url": ["--base-url", address],
        **{f"option {name}": ["--model-option", word] for name, word in options.items()},
        **{
            f"option {name}, one word": [f"--model-option={word}"] for name, word in options.items()
        },
    }


@pytest.mark.parametrize("way", hostile_options("x"))
def test_a_resumed_file_names_no_host(
    way: str, server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that names a host in any way is refused, although the user grants the model."""
    file = tmp_path / "e.jsonl"
    file.write_text(
        json.dumps({"command": [*MODEL, *hostile_options(server.base_url)[way]]}) + "\n"
    )
    assert bench(["resume", str(file), "--model", "openai:small"]) == 1
    said = capsys.readouterr().err
    assert "on its word" in said
    assert "Traceback" not in said
    assert server.requests == ()


@pytest.mark.server
def test_a_hostile_option_works_once_the_user_says_it(server: OpenAIServer, tmp_path: Path) -> None:
    """The test above is silent because the file is refused, and not because the option does nothing."""
    for number, words in enumerate(
        [["--base-url", server.base_url], ["--model-option", f"openai_api_base={server.base_url}"]]
    ):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(json.dumps({"command": [*MODEL, *words]}) + "\n")
        before = len(server.requests)
        assert bench(["resume", str(file), "--model", "openai:small", *words, "--jobs", "1"]) == 1
        assert len(server.requests) > before


def test_what_was_granted_is_not_granted_to_another_command_of_the_file(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second command is judged before the first one is played."""
    good, bad = [*MODEL], [*MODEL, "--model-option", f"base_url={server.base_url}"]
    file = tmp_path / "e.jsonl"
    file.write_text("".join(json.dumps({"command": each}) + "\n" for each in (good, bad)))
    assert bench(["resume", str(file), "--model", "openai:small"]) == 1
    assert "model-option base_url=" in capsys.readouterr().err
    assert server.requests == ()


def test_sampling_needs_no_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may say how answers are drawn: the user names the model and nothing else."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    file = tmp_path / "e.jsonl"
    command = [
        *MODEL,
        "--temperature",
        "0.2",
        "--model-option",
        "seed=7",
        "--max-tokens",
        "9",
        "--dry-run",
    ]
    file.write_text(json.dumps({"command": command}) + "\n")
    assert bench(["resume", str(file), "--model", "openai:small"]) == 0
    assert "nothing was asked" in capsys.readouterr().out


def test_every_argument_of_a_run_is_sorted() -> None:
    """An argument that is added later is refused from a file until this test and a list say what it may name."""
    [commands] = [
        each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)
    ]
    known = {action.dest for action in commands.choices["run"]._actions} - {"help"}
    assert known | {"argv", "module"} == HARMLESS | REPLACED | OUTSIDE
    assert not HARMLESS & OUTSIDE


def test_no_sampling_option_names_an_address() -> None:
    """The list of options that a file may bring along holds none of the hostile ones."""
    hostile = {
        name.removeprefix("option ").removesuffix(", one word") for name in hostile_options("x")
    }
    assert not hostile & SAMPLING


@pytest.mark.slow
@pytest.mark.server
def test_no_command_asks_a_host_that_a_file_names(server: OpenAIServer, tmp_path: Path) -> None:
    """Run, ablation, score, report and the rest over a file whose every setting is the address of the adversary."""
    grid = Grid(
        compositions=shipped_compositions(Suite.LITE)[:1],
        agents=[AgentSpec(kind="eager")],
        players=["plain"],
        arms=[NONE],
    )
    [cell] = grid.cells()
    told = episode_to_json(play(cell).episode)
    address = server.base_url
    hostile = {
        **told["settings"],
        "model": "openai:small",
        "base_url": address,
        "openai_api_base": address,
    }
    file = tmp_path / "out" / "episodes" / "eager-0ca0c5ea.jsonl"
    with Journal(file) as journal:
        journal.add_command([*MODEL, "--base-url", address])
    with Journal(tmp_path / "e.jsonl") as journal:
        journal.add(play(cell).episode)
    lines = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    lines[-1]["settings"] = hostile
    text = "".join(
        json.dumps(each) + "\n" for each in [{"command": [*MODEL, "--base-url", address]}, *lines]
    )
    for each in (file, tmp_path / "e.jsonl"):
        each.write_text(text)
    here = ["--agents", "eager", "--compositions", HERE, "--suite", "lite", "--jobs", "1"]
    saved = str(tmp_path / "e.jsonl")
    for argv in (
        ["run", *here, "--arms", "none", "--out", saved],
        [
            "run",
            "--replay",
            saved,
            "--compositions",
            HERE,
            "--suite",
            "lite",
            "--arms",
            "none",
            "--out",
            saved + "2",
        ],
        ["ablate", *here, "--no-wild", "--no-shadow", "--out", str(tmp_path / "out")],
        ["resume", saved],
        ["resume", saved, "--model", "openai:small"],
        ["score", saved, "--partial"],
        ["compare", saved, saved],
        ["report", saved, "--out", str(tmp_path / "r.html")],
        ["report", str(tmp_path / "out"), "--out", str(tmp_path / "r2.html")],
        ["results", str(tmp_path / "out"), "--out", str(tmp_path / "r.md")],
        ["export", saved, "--format", "csv", "--out", str(tmp_path / "r.csv")],
    ):
        assert bench(argv) in (0, 1), argv
    assert server.requests == ()
