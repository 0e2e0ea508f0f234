"""The adapter against bfcl-eval itself: every result, every figure, and the verdicts on a thousand mutated runs."""

import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.harness.sandbox import Sandbox
from asyncguard_benchmark.suites.bfcl.figures import static_figures
from asyncguard_benchmark.suites.bfcl.judgement import judge
from asyncguard_benchmark.suites.bfcl.package import Package, read_package
from asyncguard_benchmark.suites.bfcl.projections import Cut, TaskKind, cuts_of
from asyncguard_benchmark.suites.bfcl.reading import Source, read_source
from asyncguard_benchmark.suites.bfcl.replay import dynamic_figures
from asyncguard_benchmark.suites.bfcl.terms import RELEASES, STATELESS
from asyncguard_benchmark.suites.bfcl.worlds import pairs, replayed, worker, world_of
from asyncguard_benchmark.suites.bfcl_missions.shelf import Entries
from asyncguard_benchmark.suites.bfcl_missions.variants import Variant
from asyncguard_benchmark.suites.missions.terms import Letter

pytestmark = pytest.mark.slow
_OFFICIAL = Path(__file__).with_name("bfcl_official.py")
_MUTATED = 1000
Call = list[Any]


def _not_had(reason: str) -> None:
    if os.environ.get("ASYNCGUARD_BFCL") == "required":
        pytest.fail(f"{reason}, and ASYNCGUARD_BFCL=required")
    pytest.skip(f"{reason}; ASYNCGUARD_TEST_BFCL names a folder with the wheels")


@pytest.fixture(scope="module", params=list(RELEASES))
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel from the folder that ASYNCGUARD_TEST_BFCL names, or downloaded."""
    if find_spec("mpmath") is None:
        _not_had("mpmath is not installed, which MathAPI imports")
    version = request.param
    folder = Path(os.environ.get("ASYNCGUARD_TEST_BFCL", tmp_path_factory.mktemp("wheels")))
    name = f"bfcl_eval-{version}-py3-none-any.whl"
    if not (folder / name).exists():
        command = [
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(folder),
            f"bfcl-eval=={version}",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "pip", *command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            _not_had(f"bfcl-eval {version} cannot be downloaded")
    return folder / name


@pytest.fixture(scope="module")
def source(path: Path) -> Source:
    """The wheel, read."""
    return read_source(read_package(path))


@pytest.fixture(scope="module")
def unpacked(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole wheel in a folder."""
    folder = tmp_path_factory.mktemp("official")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def _official(unpacked: Path, entries: Sequence[Any] = (), runs: Sequence[Any] = ()) -> Any:
    done = subprocess.run(
        [sys.executable, "-B", str(_OFFICIAL)],
        input=json.dumps({"entries": list(entries), "runs": list(runs)}),
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
        cwd=unpacked,
        env={
            "PYTHONPATH": str(unpacked),
            "PYTHONHASHSEED": "0",
            "TZ": "UTC",
            "PATH": "/usr/bin:/bin",
        },
    )
    return json.loads(done.stdout)


def _lines(package: Package, name: str) -> list[Any]:
    return [json.loads(line) for line in package.files[name].splitlines()]


def test_reading_gives_the_figures_of_the_release_in_time(path: Path) -> None:
    """Every static figure is the known one, and reading takes less than a second of the processor."""
    started = time.process_time()
    source = read_source(read_package(path))
    assert time.process_time() - started < 1
    assert source.problems == ()
    assert static_figures(source) == RELEASES[source.package.version].static


@pytest.mark.parametrize(("seed", "zone"), [("0", "UTC"), ("5", "Asia/Tokyo"), ("77", "UTC")])
def test_the_replay_gives_the_figures_of_the_release(source: Source, seed: str, zone: str) -> None:
    """Every dynamic figure is the known one under other seeds of hashes and in another time zone."""
    with worker(source.package.unpacked(), PYTHONHASHSEED=seed, TZ=zone) as sandbox:
        found = dynamic_figures(source, sandbox)
    assert found == RELEASES[source.package.version].dynamic


def test_results_are_those_of_the_official_harness(source: Source, unpacked: Path) -> None:
    """Each call of each entry has the text that upstream's evaluation of the same text gives."""
    package = source.package
    truths = {each["id"]: each["ground_truth"] for each in _lines(package, package.truths)}
    entries = [
        {**each, "calls": [text for turn in truths[each["id"]] for text in turn]}
        for each in _lines(package, package.questions)
    ]
    with worker(package.unpacked()) as sandbox:
        own = [list(replayed(sandbox, entry)["results"]) for entry in source.entries]
    # One process for each entry of posts: a default that it changes leaks into the next (D4).
    posts = [each for each in entries if any("post_tweet" in call for call in each["calls"])]
    shared = [each for each in entries if each not in posts]
    found = dict(
        zip([each["id"] for each in shared], _official(unpacked, shared)["results"], strict=True)
    )
    found |= {each["id"]: _official(unpacked, [each])["results"][0] for each in posts}
    assert own == [found[each["id"]] for each in entries]


def test_verdicts_are_those_of_the_official_checker(source: Source, unpacked: Path) -> None:
    """On the truth of all tasks, and on runs with calls dropped, doubled, swapped or changed."""
    tasks = cuts_of(source.entries, (TaskKind.ENTRY, TaskKind.PROJECTION))
    chance = random.Random(1)
    runs = [(cut, pairs(cut.calls)) for cut in tasks]
    runs += [
        (cut, _mutated(cut, chance)) for cut in (chance.choice(tasks) for _ in range(_MUTATED))
    ]
    verdicts = _official(unpacked, runs=[_run(cut, made) for cut, made in runs])["verdicts"]
    with worker(source.package.unpacked()) as sandbox:
        own = [_verdict(sandbox, cut, made) for cut, made in runs]
    assert own[: len(tasks)] == ["valid"] * len(tasks)
    kinds = Counter(own[len(tasks) :])
    assert min(kinds["valid"], kinds["state"], kinds["response"]) >= 50, kinds
    differing = [
        (cut.id, made, one, other)
        for (cut, made), one, other in zip(runs, own, map(_short, verdicts), strict=True)
        if one != other
    ]
    assert differing == []


def _short(verdict: str) -> str:
    return {
        "multi_turn:instance_state_mismatch": "state",
        "multi_turn:execution_response_mismatch": "response",
        "multi_turn:empty_turn_model_response": "empty",
    }.get(verdict, verdict)


def _verdict(sandbox: Sandbox, cut: Cut, made: list[Call]) -> str:
    found = judge(sandbox, world_of(cut.entry, cut.class_name), pairs(cut.calls), made)
    if not made:
        assert not found.accepted
        return "empty"
    if not found.state:  # upstream looks at the state first
        return "state"
    return "valid" if found.response else "response"


def _run(cut: Cut, made: list[Call]) -> dict[str, Any]:
    scenario = {} if cut.class_name in STATELESS else cut.entry.scenarios.get(cut.class_name, {})
    return {
        "initial_config": {cut.class_name: scenario},
        "involved_classes": [cut.class_name],
        "truth": list(map(_text, pairs(cut.calls))),
        "made": list(map(_text, made)),
    }


def _text(call: Call) -> str:
    return f"{call[0]}({', '.join(f'{name}={value!r}' for name, value in call[1].items())})"


def _mutated(cut: Cut, chance: random.Random) -> list[Call]:
    """Return the calls of a task after one or two changes."""
    calls = pairs(cut.calls)
    for _ in range(chance.choice((1, 1, 2))):
        place = chance.randrange(len(calls)) if calls else 0
        match (
            chance.choice(("drop", "double", "swap", "change", "change", "name")) if calls else ""
        ):
            case "drop":
                del calls[place]
            case "double":
                calls.insert(place, calls[place])
            case "swap":
                other = chance.randrange(len(calls))
                calls[place], calls[other] = calls[other], calls[place]
            case "change" if calls[place][1]:
                name = chance.choice(sorted(calls[place][1]))
                changed = _changed(calls[place][1][name], chance)
                calls[place] = [calls[place][0], {**calls[place][1], name: changed}]
            case "name" if calls[place][1]:
                calls[place] = [calls[place][0], {**calls[place][1], "unheard_of": 1}]
    return calls


def _changed(value: Any, chance: random.Random) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return chance.choice([value + 1, -value, str(value), value * 1.0])
        case str():
            return chance.choice([f"{value}x", value.upper(), "", 7])
        case list():
            return chance.choice([[*value, *value], value[1:], None])
        case _:
            return {"other": value}


def test_both_releases_have_the_turns_that_lack_a_value(path: Path) -> None:
    """198 of 200 entries have exactly one; the two others are left out by name, and no truth fails."""
    code = read_package(path).code_digest
    found = Entries(path=path, code=code, variants=(Variant.MISS_PARAM, Variant.BASE))
    letters = Counter(
        letter
        for each in found.stands().values()
        if each.variant is Variant.MISS_PARAM
        for letter in each.dialogue.pattern
    )
    assert letters[Letter.CLARIFY] == 198
    assert sorted(each.where for each in found.left_out()) == [
        "multi_turn_miss_param_167",
        "multi_turn_miss_param_180",
    ]
    assert not found.problems()
