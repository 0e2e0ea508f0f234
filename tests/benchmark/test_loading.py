import json
from typing import Any

import pytest

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.loading import by_id, sub_task_from_json, sub_task_to_json
from tests.benchmark.builders import SUB_TASKS


@pytest.mark.sampled(3)
@pytest.mark.parametrize("task_id", sorted(SUB_TASKS))
def test_sub_tasks_survive_a_round_trip(task_id: str) -> None:
    """Writing and reading are inverse."""
    task = SUB_TASKS[task_id]
    assert sub_task_from_json(sub_task_to_json(task), "here") == task


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["id"], "it's", "id"),
        (["category"], "XX", "XX"),
        (["category"], "MA", "no tools"),
        (["tools", 0], "fly", "fly"),
        (["tools"], [], "API list"),
        (["gold"], [], "gold"),
        (["gold", 0, "sources", "/symbol"], "thin air", "sources"),
        (["gold", 0, "sources", "/symbol"], {"call": 0, "pointer": "/x"}, "not earlier"),
        (["gold", 1, "sources", "/price"], {"call": 1, "pointer": "/x"}, "not earlier"),
        (["initial_state", "alerts", "NUVO"], "high", "alerts"),
        (["narration"], "loud", "loud"),
        (["colour"], "red", "colour"),
    ],
)
def test_a_broken_sub_task_is_refused_with_its_place(
    path: list[Any], value: Any, message: str
) -> None:
    """The error says where and what."""
    data = json.loads(json.dumps(sub_task_to_json(SUB_TASKS["tb-07"])))
    holder: Any = data
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(DataError) as caught:
        sub_task_from_json(data, "tasks_tb.json[6]")
    assert "tasks_tb.json[6]" in str(caught.value)
    assert message in str(caught.value)


def test_two_tasks_with_one_id_are_refused() -> None:
    """Ids are unique over all files."""
    with pytest.raises(DataError, match="share"):
        by_id([SUB_TASKS["fs-01"], SUB_TASKS["fs-01"]])
