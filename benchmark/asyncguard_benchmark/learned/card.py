"""Card of a model: data, size, seed, losses and limits, from its own files."""

from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.learned.splits import statement

_LIMITS = (
    "Knows the bundled tools and their notation and no other language: of no use outside this benchmark.",
    "Was trained on one oracle's way of working, which brings a task to its end before it begins the next.",
    "Is small: what it gets wrong at once, it gets wrong late, too. Read its scores with that.",
    "Is shown at most 4,096 pieces of a conversation: of a longer one its first 2,048 and 1,025 to 2,048 at its end.",
    "Its data is synthetic. It holds no person's data, and no text of another model.",
)


def model_card(record: Mapping[str, Any], parameters: int, log: Sequence[Mapping[str, Any]]) -> str:
    """Return the card as Markdown.

    Args:
        record: How the model was trained, as `model.json` has it.
        parameters: Number of its weights.
        log: Lines of the log of its training.
    """
    plan, held_out = record["training"], statement()
    last = log[-1] if log else {}
    late = (
        f"{plan['late']:.0%} of them with late results" if plan["late"] else "results at once only"
    )
    rows = [
        ("use", "the agent `learned` of the benchmark, see `benchmark/README.md`"),
        ("scores", "`benchmark/RESULTS-learned.md`"),
        (
            "data",
            f"traces of an oracle in tasks drawn again, {late}; {record['pieces']:,} word pieces read",
        ),
        ("held out", f"{len(held_out['tasks'])} tasks, {held_out['compositions']} sets of tasks"),
        ("seed", str(plan["seed"])),
        *(
            [("begun with", f"the weights and the word pieces of the model `{begun[:12]}`")]
            if (begun := plan.get("begun_with"))
            else []
        ),
        (
            "steps",
            f"{plan['steps']} on mostly single tasks, then {plan.get('composed_steps', 0)} on mostly compositions, "
            f"of {plan['traces']} traces each; {record['step']} were made",
        ),
        ("layers calculated in", plan.get("layers_in", "float32")),
        ("parameters", f"{parameters:,}, stored in half precision without pickle"),
        (
            "loss of the last step, on training tasks with values never seen",
            f"{last.get('validation', 'unknown')} nats a piece ({last.get('loss', 'unknown')} in training)",
        ),
    ]
    lengths = list(dict.fromkeys(str(line["of"]) for line in log))
    if len(lengths) > 1:
        text = f"the plan had {', then '.join(lengths)} steps: one run of the last length gives other weights"
        rows.append(("lengthened", text))
    table = "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)])
    limits = "\n".join(f"- {each}" for each in _LIMITS)
    return f"# Model card\n\n{table}\n\n## Limits\n\n{limits}\n"
