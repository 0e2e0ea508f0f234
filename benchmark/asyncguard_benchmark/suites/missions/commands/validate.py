"""``bench missions validate``: every proof of the bundled suite."""

import sys
from argparse import Namespace

from asyncguard_benchmark.commands.output import console, harmless, print_json, with_progress
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.suites.missions.bundled.bundle import bundles
from asyncguard_benchmark.suites.missions.bundled.proofs import (
    PROOFS,
    dialogue_problems,
    listed,
    suite_problems,
)
from asyncguard_benchmark.suites.missions.bundled.wording import (
    copying,
    copying_problems,
    wording_problems,
)


class NothingToProveError(BenchmarkError):
    """The suite has no domain of this name, or no dialogue."""


def execute(options: Namespace) -> int:
    """Run the command."""
    known = {each.domain: each for each in bundles()}
    names = options.domains or tuple(known)
    if unknown := [name for name in names if name not in known]:
        raise NothingToProveError(f"--domains {unknown[0]!r}: choose from {', '.join(known)}")
    chosen = [known[name] for name in names]
    todo = [(bundle, dialogue) for bundle in chosen for dialogue in bundle.dialogues]
    if not todo:
        raise NothingToProveError("there is no dialogue to prove anything of")
    problems = [
        problem
        for bundle, dialogue in with_progress(todo, len(todo), what="dialogues")
        for problem in dialogue_problems(bundle, dialogue)
    ]
    problems += [*suite_problems(chosen), *wording_problems(chosen), *copying_problems(chosen)]
    solved, total = copying(chosen)
    shown, later = sum(listed(*each) for each in todo), sum(len(d.missions) - 1 for _, d in todo)
    said = {
        "dialogues": len(todo),
        "missions": sum(len(dialogue.missions) for _, dialogue in todo),
        "proofs": [*PROOFS, "suite", "wording", "copying"],
        "solved_by_copying": {"solved": solved, "of": total},
        "history_shown_by_calls": {"missions": shown, "of": later},
        "problems": [{"where": p.where, "proof": p.proof, "text": p.text} for p in problems],
    }
    if options.json:
        print_json(said)
        return int(bool(problems))
    for each in problems:
        sys.stderr.write(harmless(f"{each}\n"))
    console().print(
        f"{said['missions']} missions of {len(todo)} dialogues, {len(PROOFS) + 3} proofs: {len(problems)} problems; "
        f"copying words solves {solved} of {total}; in {shown} of {later} later missions calls without the history "
        "show its values among others"
    )
    return int(bool(problems))
