"""``bench adapt bfcl-missions``: plays turns of BFCL as missions, and says how clarifications went."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from asyncguard_benchmark.commands.model_options import check_model_options, model_of
from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.errors import BenchmarkError, ForeignCodeRefused
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.report.number_format import number
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.bfcl.package import read_package
from asyncguard_benchmark.suites.bfcl_missions.shelf import Entries
from asyncguard_benchmark.suites.bfcl_missions.variants import Variant
from asyncguard_benchmark.suites.missions.commands.run import estimated, played_into
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.played_rows import PlayedRow
from asyncguard_benchmark.suites.missions.playing.grid import ASK_HINT, Cell, Grid
from asyncguard_benchmark.suites.missions.scorers.frontier import holds_question
from asyncguard_benchmark.suites.missions.scorers.metrics import clarification
from asyncguard_benchmark.suites.missions.scorers.verdict import judge
from asyncguard_benchmark.suites.missions.terms import ASK, Letter

_SHOWN = 20
"""Problems that are told one by one."""
_BY = ("agent", "player", "arm", "regime")
_HEADS = (
    *_BY,
    "turns",
    "n",
    "response+state",
    "strict",
    "asked",
    "invented",
    "refused of 1,000",
    "guards",
)


class NothingAskedError(BenchmarkError):
    """Name who plays: --agents inventing,oracle, or --model provider:name."""


class BrokenEntriesError(BenchmarkError):
    """Entries of the package cannot be read or played."""


def execute(options: Namespace) -> int:
    """Run the command."""
    if not (options.agents or options.model):
        raise NothingAskedError(NothingAskedError.__doc__)
    package = read_package(options.path, any_version=options.any_version)
    if not options.run_foreign_code:
        raise ForeignCodeRefused(
            f"the tools in {package.place} are Python code from outside, and this runs it. Look at it, and say "
            "--run-foreign-code to run it in bounded processes without network (a guard-rail, no security boundary)"
        )
    variants = tuple(map(Variant, options.variants))
    entries = Entries(
        path=options.path.absolute() if options.path.exists() else options.path,
        code=package.code_digest,
        variants=tuple(dict.fromkeys((*variants, Variant.BASE))),
        any_version=options.any_version,
    )
    problems = entries.problems()
    told = [*map(str, problems[:_SHOWN])]
    if problems and not options.partial:
        raise BrokenEntriesError(
            "\n  ".join([f"{len(problems)} parts of {package.place} are broken:", *told])
            + "\n--partial goes on with the others"
        )
    for each in (*told, *map(str, entries.left_out())):
        notice(f"left out: {each}")
    cells = _cells(options, entries, variants)
    if options.dry_run:
        return estimated(options, cells)
    rows = played_into(options.out, cells, options)
    _say(rows, options)
    return 0


def _cells(options: Namespace, entries: Entries, variants: Sequence[Variant]) -> list[Cell]:
    missions = list(dict.fromkeys(each for one in variants for each in _missions(entries, one)))
    chosen = {*missions[:: options.every]}
    chosen |= {twin for each in chosen if (twin := _twin(each, entries)) is not None}
    check_model_options(options)
    model = model_of(options)
    for arm in options.arms:
        if arm != ASK_HINT:
            arm_of(arm)  # a mistake is told at once
    cells = Grid(
        dialogues=list(dict.fromkeys(dialogue for dialogue, _ in sorted(chosen))),
        challenges=("all",),
        agents=options.agents,
        models=(model,) if model else (),
        players=options.players,
        arms=options.arms,
        histories=(History.UPTA,),
        regimes=[Regime(each) for each in options.regimes],
        seeds=range(options.repeats),
        play_on=True,
        download=entries,
    ).cells()
    return [each for each in cells if (each.case.dialogue, each.case.mission) in chosen]


def _missions(entries: Entries, variant: Variant) -> Iterator[tuple[str, int]]:
    """Yield the missions of a variant: of `miss_param` those that lack a value, of the base all."""
    for name, each in entries.stands().items():
        if each.variant is variant:
            for mission, letter in enumerate(each.dialogue.pattern):
                if variant is Variant.BASE or letter is Letter.CLARIFY:
                    yield name, mission


def _twin(place: tuple[str, int], entries: Entries) -> tuple[str, int] | None:
    """Return the turn of the base that a mission with a question was made of; None if there is none."""
    stands, (name, mission) = entries.stands(), place
    if stands[name].variant is Variant.BASE:
        return None
    twin = name.replace(Variant.MISS_PARAM.value, Variant.BASE.value)
    known = twin in stands and mission < len(stands[twin].dialogue.missions)
    return (twin, mission) if known else None


def figures(rows: Sequence[PlayedRow]) -> dict[str, Any]:
    """Return what became of runs of one condition, which all lack a value or all lack none."""
    verdicts = [judge(each.entry) for each in rows]
    said = clarification(verdicts)
    upstream = [each.value["upstream"] for each in rows]
    interventions = Counter(
        each["guard"] for row in rows for each in row.value["notes"].get("interventions", ())
    )
    first = [each.entry.steps[0] if each.entry.steps else None for each in rows]
    refused = sum(interventions.values())
    made = refused + sum(len(each.value["calls"]) for each in rows)
    return {
        "missions": len(rows),
        "accepted": mean(
            each["called"] and each["response"] and each["state"] for each in upstream
        ),
        "strict": mean(
            each["called"] and each["response"] and each["state_strict"] for each in upstream
        ),
        "asked_first": mean(
            each is not None and each.is_text and holds_question(each.text) for each in first
        ),
        "invented": said["c_invented"].value,
        "refused_of_1000": 1000 * refused / made if made else None,
        "interventions": dict(interventions),
    }


def _turns(row: PlayedRow) -> str:
    """Return the kind of turn: where the reply says a value in other words, no agent of ours can leave it out."""
    asks = [node for node in row.entry.graph.nodes if node.name == ASK]
    if not asks:
        return "lack nothing"
    told = asks[0].arguments["missing_required_parameters"]
    return "lack a value" if told else "lack a value, told in other words"


def _say(rows: Sequence[PlayedRow], options: Namespace) -> None:
    groups: dict[tuple[str, ...], list[PlayedRow]] = {}
    for row in rows:
        place = (*(str(getattr(row.key, name)) for name in _BY), _turns(row))
        groups.setdefault(place, []).append(row)
    found = [(place, figures(group)) for place, group in groups.items()]
    if options.json:
        names = (*_BY, "turns")
        conditions = [{**dict(zip(names, place, strict=True)), **each} for place, each in found]
        print_json({"file": str(options.out), "conditions": conditions})
        return
    console().print(
        table(_HEADS, [(*place, *_line(each)) for place, each in found], title=str(options.out))
    )


def _line(said: Mapping[str, Any]) -> tuple[str, ...]:
    guards = ", ".join(f"{name} {count}" for name, count in said["interventions"].items())
    shares = (said[name] for name in ("accepted", "strict", "asked_first", "invented"))
    return (
        str(said["missions"]),
        *(number(None if each is None else 100 * each) for each in shares),
        number(said["refused_of_1000"]),
        guards or "-",
    )
