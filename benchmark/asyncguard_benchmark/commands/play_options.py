"""Arguments about what is played, and by which agents, for every command that plays episodes. Imports nothing heavy."""

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

from asyncguard_benchmark.commands.arguments import (
    add_jobs,
    add_names,
    add_out,
    number,
    rate,
    rates,
    words,
)
from asyncguard_benchmark.commands.model_options import add_model_arguments
from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.arms import ALL, NONE, arm_of
from asyncguard_benchmark.harness.names import PLAYER_NAMES
from asyncguard_benchmark.harness.scenario import Contract, Kind, Regime, Suite, Surface
from asyncguard_benchmark.harness.suites import registry

SURFACE_NAMES = tuple(each.value for each in Surface)
_OTHER_AGENTS = "persona:MODEL (`bench list agents`; `personas` for all), package.module:Class"
_ALL_PERSONAS = "personas"
_PLACE = re.compile(r"\w+(\.\w+)*:\w+")


def agent_names(text: str) -> tuple[str, ...]:
    """Return names of agents.

    One with a colon is a persona, or a class of one's own that is looked for when it is played.
    """
    if text == _ALL_PERSONAS:
        return registry().personas
    unknown = [
        name
        for name in words(text)
        if name not in (*registry().agents, *registry().personas, *registry().trained)
        and (":" not in name or name.startswith("persona:"))
    ]
    if unknown or not words(text):
        known = ", ".join((*registry().agents, *registry().personas, *registry().trained))
        raise argparse.ArgumentTypeError(
            f"{', '.join(unknown) or text!r}: choose from {known}, or package.module:Class"
        )
    return words(text)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in words(text)) or (0,)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a list of whole numbers, not {text!r}") from None


def add_agents(made: Any, text: str) -> None:
    """Add the agents of all suites, personas and classes of one's own.

    Args:
        made: A parser or a group of one.
        text: Stands before their names in the help.
    """
    known = ", ".join((*registry().agents, *registry().trained))
    made.add_argument(
        "--agents", type=agent_names, metavar="A,B", help=f"{text}{known}, {_OTHER_AGENTS}"
    )


def add_agent_settings(made: Any) -> None:
    """Add what the eager agent and the personas can be set to."""
    made.add_argument(
        "--distractor-rate",
        type=rates,
        metavar="P,Q",
        help="eager agents: shares of guesses that stand in a message; each is played",
    )
    made.add_argument(
        "--lucky-rate", type=rate, metavar="P", help="eager agent: guesses foreseen from the call"
    )
    made.add_argument(
        "--member",
        type=number,
        metavar="N",
        help="personas: set of rates, from 0; the best fit first",
    )
    made.add_argument(
        "--compliance",
        type=rate,
        metavar="P",
        help="personas: share of refusals heeded, 1 by default",
    )


def add_players(made: Any, names: Sequence[str] = PLAYER_NAMES) -> None:
    """Add the players, of which the graph is the default."""
    add_names(made, "--players", names, ("graph",))


def add_arms(made: Any, read: Callable[[str], tuple[str, ...]]) -> None:
    """Add the arms of guards; `read` is the type of their list."""
    made.add_argument(
        "--arms",
        type=read,
        default=(NONE, ALL),
        metavar="A,B",
        help="guards; see `bench list arms`",
    )


def add_rules(made: Any, text: str) -> None:
    """Add the option for guards of the user's own, `GuardRule` objects by their places.

    Args:
        made: A parser or a group of one.
        text: What is done with one, for the help.
    """
    made.add_argument(
        "--guard",
        type=_places,
        action="extend",
        default=[],
        metavar="package.module:RULE",
        help=f"a guard of your own: {text}",
    )


def _places(text: str) -> tuple[str, ...]:
    found = words(text)
    if not found or not all(_PLACE.fullmatch(word) for word in found):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form package.module:RULE")
    return found


def add_regimes(made: Any, *default: str) -> None:
    """Add the regimes of delay."""
    add_names(made, "--regimes", tuple(each.value for each in Regime), default)


def add_contract(made: Any) -> None:
    """Add the contract with the agent, ours unless the paper's is asked for."""
    made.add_argument(
        "--contract",
        choices=tuple(each.value for each in Contract),
        default=Contract.OURS.value,
        help="paper: its prompt, response schemas, no reading of sloppy text, its sampling of compositions; text only",
    )


def add_surfaces(made: Any) -> None:
    """Add the surfaces, of which text is the default."""
    add_names(made, "--surfaces", SURFACE_NAMES, ("text",))


def add_tools(made: Any) -> None:
    """Add whether the tools are declared."""
    add_names(made, "--tools", ("declared", "undeclared"), ("declared",))


def add_seeds(
    made: Any,
    read: Callable[[str], tuple[int, ...]] = _numbers,
    text: str = "seeds of delays and guesses",
) -> None:
    """Add the seeds.

    Args:
        made: A parser or a group of one.
        read: The type of their list; whole numbers by default.
        text: The line of the help.
    """
    made.add_argument("--seeds", type=read, default=(0,), metavar="N,M", help=text)


def add_compositions(made: Any, sets: Sequence[str]) -> None:
    """Add the set of compositions and which of it.

    Args:
        made: A parser or a group of one.
        sets: Names of the sets to choose from.
    """
    made.add_argument(
        "--suite",
        choices=sets,
        default=Suite.MAIN.value,
        help="712 of two or three tasks by default",
    )
    add_ids(made)


def add_ids(made: Any, default: tuple[str, ...] | None = None) -> None:
    """Add which compositions of a set or a file."""
    made.add_argument(
        "--compositions",
        type=words,
        default=default,
        metavar="ID,ID",
        help="ids or beginnings of ids",
    )


def add_episodes_file(made: Any, default: str) -> None:
    """Add the file of episodes, which a run goes on with if it is there."""
    add_out(made, default, "appended to")


def compositions(text: str) -> dict[Kind, int]:
    """Return how many compositions of each kind are to be drawn; the type of `--compose`."""
    known = [each.value for each in Kind if each.size > 1]
    found: dict[Kind, int] = {}
    for word in words(text) or ("",):
        name, _, count = word.partition("=")
        if name not in known or not count.isdecimal() or not int(count) or Kind(name) in found:
            raise argparse.ArgumentTypeError(
                f"{word!r}: expected KIND=NUMBER, each kind once, of {', '.join(known)}, as in S2=60"
            )
        found[Kind(name)] = int(count)
    return found


def add_foreign_playing(made: Any, file: str) -> None:
    """Add everything about playing compositions of foreign tasks but how many there are."""
    made.add_argument(
        "--seed", type=number, default=0, metavar="N", help="seed of the compositions, 0"
    )
    add_agents(made, "simulated: ")
    add_players(made)
    add_arms(made, _arms)
    add_regimes(made, "fixed1")
    add_surfaces(made)
    add_seeds(made)
    add_agent_settings(made)
    add_no_messages(made)
    add_jobs(made)
    add_episodes_file(made, file)
    add_model_arguments(made)
    # The tasks' code lies on this machine, and other workers were not told that it may run.
    made.set_defaults(workers=None, database_url=None)


def _arms(text: str) -> tuple[str, ...]:
    found = words(text)
    try:
        for each in found or (text,):
            arm_of(each)
    except UnknownNameError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem
    return found


def add_findings_folder(made: Any, default: str) -> None:
    """Add the folder of an ablation."""
    add_out(made, default, "where episodes and findings go", "DIR")


def add_no_messages(made: Any) -> None:
    """Add whether conversations are left out of the file."""
    made.add_argument(
        "--no-messages", dest="messages", action="store_false", help="save no conversations"
    )
