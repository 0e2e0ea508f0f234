"""Written dialogues in the official form of both benchmarks."""

from datetime import date
from typing import Any

from asyncguard_benchmark.suites.missions.bundled.bundle import (
    Bundle,
    BundledDialogue,
    BundledMission,
)
from asyncguard_benchmark.suites.missions.terms import Letter, Relation

_LETTERS = {Letter.SINGLE: "单", Letter.MULTI: "多", Letter.CLARIFY: "反", Letter.CHAT: "拒"}
_RELATIONS = {
    Relation.REFERENCE: "指代理解",
    Relation.ELLIPSIS: "省略成分",
    Relation.LONG_MEMORY: "长期记忆",
}
_WEEKDAYS = "一二三四五六日"


def official_row(bundle: Bundle, dialogue: BundledDialogue) -> dict[str, Any]:
    """Return a dialogue as one line of the official files; English texts stand in both twins.

    The form has no place for sources, facts, aliases and states.
    """
    missions = dialogue.missions
    shared = {
        "task": [each.text for each in missions],
        "messages": [message for each in missions for message in _block(each)],
        "answer_list": [_answers(each) for each in missions],
        "tools": [
            {"type": "function", "function": bundle.toolset.tools[name].function_schema()}
            for name in dialogue.tools
        ],
    }
    weekday = _WEEKDAYS[date.fromisoformat(dialogue.time[:10]).weekday()]
    return {
        "id": dialogue.id,
        **shared,
        **{f"english_{name}": value for name, value in shared.items()},
        "task_ids": [0] * len(missions),
        "type": [_LETTERS[each.letter] for each in missions],
        "turn_type": [each.relation is not None for each in missions],
        "turn_subtypes": [_RELATIONS[each.relation] for each in missions if each.relation],
        "env_info": f"{dialogue.time} 星期{weekday}",
        "canary": bundle.canary,
    }


def _block(mission: BundledMission) -> list[Any]:
    return [*({"role": role, "content": text} for role, text in mission.texts()), "====="]


def _answers(mission: BundledMission) -> list[dict[str, Any]]:
    found = []
    for number, node in enumerate(mission.nodes):
        row: dict[str, Any] = {
            "idx": number,
            "action": {"name": node.name, "arguments": node.arguments},
            "observation": node.observation,
            "dependency_list": list(node.needs),
        }
        if node.reply is not None:
            row["user_input"] = node.reply
        found.append(row)
    return found
