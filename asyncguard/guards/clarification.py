"""Clarification: a missing value is asked for, never invented.

The guard rejects a call that lacks a required argument, or has an argument that holds a stand-in
(``TBD``, ``<user_id>``, ``your_key_here``, ``???``). An empty string is a value; so is a stand-in
that the schema offers or that the user or a result really said. While earlier calls of the task are
open the value may come from them, and the advice is to wait.

A call that lacks an argument and gives one that the schema does not have has misnamed it: that is
left to the guard ``arguments``, if it is switched on, because the model has the value.

The guard judges the arguments as the model wrote them: an operand counts as present, and the value
that replaces it at release does not come from the model.
"""

import re
from collections.abc import Mapping

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.calls import Call
from asyncguard.core.dependencies import Path, as_reference, earlier_untold
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards.call_names import keys, labels
from asyncguard.guards.grounding import as_proposed
from asyncguard.guards.live_contract import fits_live
from asyncguard.schema.excerpts import clipped, listed
from asyncguard.schema.literals import is_fixed, own_leaves

_WORDS = re.compile(
    r"(?:unknown|unspecified|undefined|tbd|tba|todo|to be (?:determined|decided|defined|provided)"
    r"|n/a|placeholder"
    r"|(?:none|not|no value|nothing) (?:given|specified|provided|available|known|stated)"
    r"|x{3,}(?:[-. ]x+)*)[.!]?"
)
_SHAPES = re.compile(
    r"<[^<>]{1,80}>|\[(?:your|insert|enter)\b[^\[\]]{1,80}\]|your[ _-].{1,60}[ _-]here"
)
_MARKS = re.compile(r"\?{2,}|\.{3,}|_{3,}|<>")
_ANY = re.compile("|".join(f"(?:{kind.pattern})" for kind in (_WORDS, _SHAPES, _MARKS)))
"""All three in one pattern, which rules out nearly every value in one step."""
_PARTS = re.compile(r"[^\W_]+")
_FILLERS = re.compile(
    r"an?|the|your?|my|our|users?|insert|enter|add|put|some|any|here|value|name|id|number|string|text"
    r"|of|to|be|for|given|provided|determined|unknown|missing|tbd|todo|placeholder"
)
_SPACE = re.compile(r"\s+")
_DECLARES_ELSEWHERE = frozenset(
    {"$ref", "allOf", "anyOf", "dependentSchemas", "if", "oneOf", "patternProperties"}
)
"""Keywords of a schema beside which ``properties`` does not name all arguments."""


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call that lacks a required value or holds a stand-in."""
    spec = proposal.spec
    if spec is None or proposal.problem:
        return ADMIT
    call = as_proposed(proposal, board)
    missing = missing_names(spec, call)
    stand_ins = {} if missing else _stand_ins(call, spec, board)
    if missing and board.config.arguments and misnamed(spec, call):
        return ADMIT
    if missing and fits_live(call, spec, board):
        return ADMIT
    if not missing and not stand_ins:
        return ADMIT  # before looking for open calls, of which there may be thousands
    # With the ledger switched off no guard may know of open calls.
    pending = earlier_untold(call, board.ledger) if board.config.ledger else []
    if missing:
        what = f"{clipped(call.tool)} needs {listed(missing)}, and the call does not give it."
    else:
        given = listed(f"{name}={value!r}" for name, value in stand_ins.items())
        what = f"{given} is a stand-in, not a value."
    names = listed(missing or stand_ins)
    advice = f"Ask the user for {names} instead of inventing it."
    if pending:
        advice = (
            f"If it comes from {labels(pending, call.task)}, wait for the result and call again; "
            f"otherwise ask the user for {names}. Do not invent it."
        )
    return Reject(guard="clarification", reason=f"{what} {advice}", on=keys(pending))


def missing_names(spec: ToolSpec, call: Call) -> list[str]:
    """Return the required arguments that the call does not give."""
    required = (spec.parameters or {}).get("required", ())
    return [name for name in required if name not in call.arguments]


def misnamed(spec: ToolSpec, call: Call) -> list[str]:
    """Return the arguments that the schema does not have, if the call lacks a required one.

    LangChain's schemas leave open whether there may be more arguments than they declare.
    """
    if as_reference(call.arguments) is not None:  # an operand in place of them all
        return []
    schema = spec.parameters or {}
    if _DECLARES_ELSEWHERE & schema.keys() or schema.get("additionalProperties"):
        return []
    declared = schema.get("properties")
    if not isinstance(declared, Mapping) or not missing_names(spec, call):
        return []
    return [name for name in call.arguments if name not in declared]


def _stand_ins(call: Call, spec: ToolSpec, board: Scoreboard) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, value in own_leaves(call.arguments):
        if not isinstance(value, str) or not _is_stand_in(value, path, call.task, board):
            continue
        if not is_fixed(spec.parameters, call.arguments, path):
            found["/".join(map(str, path))] = clipped(value)
    return found


def _is_stand_in(value: str, path: Path, task: str, board: Scoreboard) -> bool:
    folded = _SPACE.sub(" ", value.casefold()).strip()
    if not _ANY.fullmatch(folded):
        return False
    # A mark has no words that evidence could hold, so it is searched for as it stands.
    if _MARKS.fullmatch(folded):
        return not board.evidence.shows(task, folded)
    if _SHAPES.fullmatch(folded):
        # The words of a text that only repeats the argument's name are common: as evidence they
        # would ground it. So it has to have been said as it stands, by the user or a result: system
        # prompts have such places to be filled.
        own = {part for token in path for part in _PARTS.findall(str(token).casefold())}
        if all(part in own or _FILLERS.fullmatch(part) for part in _PARTS.findall(folded)):
            in_prompt = folded in board.evidence.prompt.casefold()
            return in_prompt or not board.evidence.shows(task, folded)
    return board.evidence.ungrounded(task, value) is not None
