"""One lane for all tests: a process of its own that forks a child for each life."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from reliability.cases import Case
from reliability.lane import Played
from reliability.lanes import Lanes
from tests.reliability.playing import Play


@pytest.fixture(scope="session")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Plays a case on SQLite and judges it."""
    folder = tmp_path_factory.mktemp("reliability")
    with subprocess.Popen(
        Lanes(folder=folder).command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as lane:
        assert lane.stdin is not None
        assert lane.stdout is not None

        def played(case: Case) -> Played:
            assert lane.stdin is not None
            assert lane.stdout is not None
            lane.stdin.write(f"{json.dumps(case.to_json())}\n")
            lane.stdin.flush()
            return Played(**json.loads(lane.stdout.readline()))

        yield played
        lane.stdin.close()
