"""Declarations of the tools on whose results a tool's arguments can rest."""

from dataclasses import fields
from itertools import pairwise

from asyncguard import ToolSpec
from asyncguard.adapters.tools import declare
from asyncguard_benchmark.harness.players.declarations import (
    OWN_TOOLS,
    mode_of,
    own_specs,
    specs_of,
    takes_from,
    unreachable_tool,
)
from asyncguard_benchmark.services.catalogue import composition_tools, toolset_of
from asyncguard_benchmark.suites.asynctool.dataset import independent_tasks, solved_tasks
from tests.benchmark.builders import LITE


def test_no_source_of_a_solution_is_left_out() -> None:
    """Neither of a value nor of a derivation; and every name is that of a tool of the category."""
    for task in solved_tasks():
        known = set(toolset_of(task.category).tools)
        for call in task.gold:
            sources = takes_from(task.category, call.tool)
            assert sources is not None
            assert {task.gold[needed].tool for needed in call.needs()} <= set(sources) <= known


def test_arguments_of_one_name_have_the_same_sources() -> None:
    """A tool of which no solution takes a value yet is as cautious as its neighbours."""
    quoted = takes_from("TB", "get_quote")
    assert quoted is not None
    assert "top_movers" in quoted
    assert set(quoted) == set(takes_from("TB", "get_profile") or ())
    assert takes_from("TB", "get_account") == ()


def test_where_tools_fail_nothing_is_claimed() -> None:
    """Solutions of the hazard suite do not show what an agent reads to recover."""
    assert takes_from("LG", next(iter(toolset_of("LG").tools))) is None


def test_most_independent_steps_are_declared_so() -> None:
    """More than four in five neighbours of the set that need nothing; the others share the name of an argument."""
    exempt = [
        earlier.tool not in (takes_from(task.category, later.tool) or ())
        for task in independent_tasks()
        for earlier, later in pairwise(task.gold)
        if not later.needs()
    ]
    assert sum(exempt) > 0.8 * len(exempt)


def test_specs_declare_only_tools_of_the_composition() -> None:
    """As soon as `ToolSpec` has the field; the protocol's own tools rest on nothing."""
    if "takes_from" not in {field.name for field in fields(ToolSpec)}:
        assert specs_of(LITE[0], declared=True)
        return
    for each in LITE:
        specs = specs_of(each, declared=True)
        known = {spec.name for spec in specs}
        assert all(set(getattr(spec, "takes_from") or ()) <= known for spec in specs)  # noqa: B009
    assert [getattr(each, "takes_from") for each in own_specs(mode_of(LITE[0]))][:2] == [(), ()]  # noqa: B009


def test_an_agent_is_built_of_the_declarations_as_they_are() -> None:
    """The declarations say their tools' parameters, so that no agent completes them once more."""
    composition = LITE[0]
    mode = mode_of(composition)
    given = [*specs_of(composition, declared=True), *own_specs(mode)]
    tools = [*map(unreachable_tool, composition_tools(composition).values()), *OWN_TOOLS]
    used = declare.specs_of(tools, given)
    assert all(used[each.name] is each for each in given)
