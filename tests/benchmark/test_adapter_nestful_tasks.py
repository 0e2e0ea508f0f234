"""Tasks that are made of rows of NESTFUL v2, and compositions of them."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.loading import composition_from_json, composition_to_json
from asyncguard_benchmark.harness.pointers import covers, leaves, resolve
from asyncguard_benchmark.harness.scenario import Kind, SourceKind, SubTask
from asyncguard_benchmark.suites.nestful.composer import TooFewTasksError, compose
from asyncguard_benchmark.suites.nestful.sources import (
    ARITHMETIC,
    EMPTY,
    NORMALISED,
    NOWHERE,
    shares,
)
from asyncguard_benchmark.suites.nestful.tasks import Making
from asyncguard_benchmark.suites.nestful.terms import NestfulCategory
from tests.benchmark.builders_nestful import (
    FUNCTIONS,
    SAMPLE,
    TOOL,
    call,
    making,
    row,
    small,
    written,
)


@pytest.fixture(scope="module")
def sample() -> Making:
    """The tasks of the sample."""
    return making(SAMPLE, FUNCTIONS)


@pytest.mark.slow
def test_each_clean_row_of_the_sample_is_a_task(sample: Making) -> None:
    """With its place of origin, results, tools and a category; the row that may not run is left out with its reason."""
    assert len(sample.tasks) == 29
    assert list(sample.left_out) == ["fa57c28a-e9d8-44fb-a358-a9404a557d5b"]
    task = next(each for each in sample.tasks if each.id.startswith("nestful-877968a0"))
    assert task.origin is not None
    assert (task.origin.source, task.origin.kind, task.origin.results[-1]) == (
        "nestful",
        "code",
        "[5, 4]",
    )
    assert len(task.tools) == 17
    assert task.category is NestfulCategory.MANAGEMENT
    kinds = {
        category: sum(each.category is category for each in sample.tasks)
        for category in NestfulCategory
    }
    assert kinds[NestfulCategory.NUMBERS] == 21
    assert sum(kinds.values()) == 29


def test_sources_cover_each_value_once_and_results_hold_what_they_say(sample: Making) -> None:
    """References are results; their values stand there, of the same type."""
    for task in sample.tasks:
        assert task.origin is not None
        for gold in task.gold:
            for pointer, _ in leaves(dict(gold.arguments)):
                assert sum(covers(place, pointer) for place in gold.sources) == 1
            for place, source in gold.sources.items():
                if source.kind is SourceKind.RESULT:
                    result = json.loads(task.origin.results[source.call or 0])
                    assert json.dumps(resolve(gold.arguments, place)) == json.dumps(result)
    found = shares(sample.tasks)
    assert found["earlier result"] == 77
    assert found["literal of the query"] > 100


def test_sources_of_literals_are_the_first_that_holds(tmp_path: Path) -> None:
    """Query, schema, another form, arithmetic of grounded numbers, or nowhere; None is not a JSON text."""
    tool = TOOL | {"parameters": {"number": {"description": "Use 77 or none.", "type": "any"}}}
    values = [4, True, 77, "big  Apple", 3, 12, 99991, None]
    output = [call(label=f"$var{n}", number=value) for n, value in enumerate(values)]
    output.append(call(label="$var8", number="$var7.output_0$"))
    query = "Take three and 4 and the Big apple."
    (task,) = small(
        tmp_path, row(input=query, tools=[tool], output=output), code="def double(number): pass"
    ).tasks
    found = [each.sources["/number"] for each in task.gold]
    kinds = (SourceKind.QUERY, SourceKind.SCHEMA, SourceKind.SCHEMA)
    assert tuple(each.kind for each in found[:3]) == kinds
    assert [each.how for each in found[3:7]] == [NORMALISED, NORMALISED, NOWHERE, NOWHERE]
    assert (found[8].how, found[8].uses) == (EMPTY, {7})
    (task,) = small(
        tmp_path, row(input="6 and 2", output=[call(number=12), call(label="$var2", number=6)])
    ).tasks
    assert task.gold[0].sources["/number"].how == ARITHMETIC


@pytest.mark.parametrize(
    ("name", "kind", "result", "category"),
    [
        ("create_list", "int", "int", NestfulCategory.GENERATION),
        ("parse_number", "int", "int", NestfulCategory.FORMAT),
        ("double", "int or float", "float", NestfulCategory.NUMBERS),
        ("double", "int", "string", NestfulCategory.MANAGEMENT),
        ("double", "string", "string", NestfulCategory.STRINGS),
        ("double", "list of string", "string", NestfulCategory.MANAGEMENT),
    ],
)
def test_a_category_follows_from_names_and_types(
    tmp_path: Path, name: str, kind: str, result: str, category: NestfulCategory
) -> None:
    """Of the functions that the gold calls."""
    tool = {
        "name": name,
        "parameters": {"number": {"type": kind}},
        "output_parameters": {"output_0": {"type": result}},
    }
    words = written(
        tmp_path,
        row(tools=[tool], output=[call(name, number=1), call(name, "$var2", number=2)]),
        code=f"def {name}(number): return 1",
    )
    (tmp_path / "functions" / "func_file_map.json").write_text(json.dumps({name: "double.py"}))
    (task,) = making(Path(words[2]), Path(words[4])).tasks
    assert task.category is category


def test_rows_that_make_no_task_are_left_out_with_the_reason(tmp_path: Path) -> None:
    """Too short, failing, or with an argument whose name the benchmark needs."""
    reserved = TOOL | {"parameters": {"task_id": {"type": "int"}}}
    rows = (
        row(output=[call(number=1)]),
        row(sample_id="b", output=[call(number="x"), call(label="$var2", number=[])]),
        row(
            sample_id="c",
            tools=[reserved],
            output=[call(task_id=1), call(label="$var2", task_id=1)],
        ),
    )
    made = small(tmp_path, *rows, code="def double(number): return 1 / number")
    assert made.tasks == ()
    assert made.left_out["small"] == "its gold has fewer than two calls"
    assert re.match("call 0, double: TypeError: unsupported operand", made.left_out["b"])
    assert made.left_out["c"] == "double has an argument task_id, which is reserved"


def test_compositions_are_drawn_from_a_seed(sample: Making) -> None:
    """Of the kinds asked for, the same for one seed, and back from their saved form."""
    counts = {Kind.S2: 4, Kind.C2: 3, Kind.S3: 2, Kind.C3: 3}
    made = compose(sample.tasks, counts, 7)
    assert [each.kind for each in made] == [
        kind for kind, count in counts.items() for _ in range(count)
    ]
    assert [each.task_ids for each in made] == [
        each.task_ids for each in compose(sample.tasks, counts, 7)
    ]
    assert [each.task_ids for each in made] != [
        each.task_ids for each in compose(sample.tasks, counts, 8)
    ]
    saved = json.loads(json.dumps(composition_to_json(made[-1])))
    assert composition_from_json(saved, "file") == made[-1]


def clashing(tmp_path: Path) -> Sequence[SubTask]:
    """Two tasks whose tools of one name have different schemas."""
    other = TOOL | {"parameters": {"number": {"type": "string"}}}
    return small(
        tmp_path,
        row(),
        row(
            sample_id="other",
            tools=[other],
            output=[call(number=1)] * 1 + [call(label="$var2", number=2)],
        ),
    ).tasks


def test_tools_of_one_name_that_differ_are_never_put_together(tmp_path: Path) -> None:
    """The composer draws again, and says what there is if nothing fits."""
    tasks = clashing(tmp_path)
    with pytest.raises(TooFewTasksError, match=r"no composition C2 was found .*NF-NO 1, NF-SM 1"):
        compose(tasks, {Kind.C2: 1}, 0)
    with pytest.raises(TooFewTasksError, match="no composition S2"):
        compose(tasks, {Kind.S2: 1}, 0)


def test_a_saved_task_needs_its_origin_and_the_description_of_its_tools(sample: Making) -> None:
    """A file that lost a part is refused with the place."""
    (made,) = compose(sample.tasks, {Kind.S2: 1}, 0)
    saved = composition_to_json(made)
    for changed, complaint in (
        ({"origin": None}, "lacks the origin"),
        ({"initial_state": {}}, r"initial_state.*'tools' is a required property"),
        ({"initial_state": {"tools": {}}}, "has no tools"),
    ):
        broken = saved | {"sub_tasks": [saved["sub_tasks"][0] | changed, saved["sub_tasks"][1]]}
        with pytest.raises(DataError, match=complaint):
            composition_from_json(broken, "file")
