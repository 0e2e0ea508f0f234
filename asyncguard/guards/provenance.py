"""Provenance: a required value that the user never gave is asked for before it is used.

``grounding`` judges values while a result is pending, from which the real one may come. This guard
judges them when nothing is: a model that fills in a plausible day or number in serial work invents
it just the same. A value of a required argument is sent back if

- it occurs nowhere in the conversation: in no word of the user or the system prompt, in no result
  of any task, in no text of the model to which the user has spoken since, and not in the argument's
  schema (``enum``, ``const``, ``default``, ``examples``, choices that its description quotes), and
- it does not follow from what occurs, see :mod:`asyncguard.core.derivation`, and
- it is of no kind that a model knows or chooses by itself. By its form: 0 and 1, which a singular
  states. By the name or description of the argument: codes of countries, currencies, languages,
  airports and shares, coordinates, and sizes and numbers of pages. By name and schema, which gives
  it no form: a text that the model words, as a subject, a message or a query, if its numbers,
  dates and names were told, and a third of the words that say what it is about.

Each value is sent back once. The same value of the same argument passes the second time: the user
may have left the choice to the model. A value that occurs for something else passes, too; nothing
here knows what a value stands for.
"""

import re
from typing import Any

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.calls import Call, CallState, canonical_json
from asyncguard.core.dependencies import Path, earlier_untold
from asyncguard.core.derivation import Derivation
from asyncguard.core.evidence import Sources
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards.call_names import keys, labels
from asyncguard.guards.grounding import as_proposed, worded_freely
from asyncguard.schema.excerpts import listed
from asyncguard.schema.literals import (
    described,
    is_fixed,
    is_offered,
    is_unconstrained,
    own_leaves,
)

NAME = "provenance"
_CODE = re.compile(r"[A-Z]{2,5}|[a-z]{2}(?:[-_][A-Za-z]{2})?")
_STATION = re.compile(r"[A-Z]{3}")
_NAMES_STATION = re.compile(r"(?<![a-z])(?:from|to|origin|destination|depart|arriv|city|location)")
_NAMES_CODE = re.compile(
    r"countr|currenc|airport|iata|icao|\biso\b|iso[ _-]?\d|languag|locale|lang\b|\bcodes?\b"
    r"|ticker|symbol"
)
_NAMES_PLACE = re.compile(r"(?<![a-z])(?:lat|lon|lng|latitude|longitude|coordinates?)(?![a-z])")
_NAMES_PAGE = re.compile(
    r"(?<![a-z])(?:page|limit|offset|page_?size|per_page|top_?[kn]|max_?results|num_?results)(?![a-z])"
)
_NAMES_WORDING = re.compile(
    r"(?<![a-z])(?:subject|title|headline|summary|query|question|keywords?|prompt|greeting|body|text"
    r"|messages?|content|caption|comment|remark|notes?|reason|description|tweet|post|reply|answer"
    r"|feedback|instructions?|details)(?![a-z])"
)


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call once for each required value that has no source."""
    spec, record = proposal.spec, board.ledger.find(proposal.call.key)
    # What the model knew when it wrote the call does not change until its release.
    if spec is None or proposal.problem or (record and record.state is not CallState.PROPOSED):
        return ADMIT
    call = as_proposed(proposal, board)
    found = {
        path: value
        for path, value in untold_values(call, spec, board).items()
        if not _sent_back(call, path, value, board)
    }
    if not found:
        return ADMIT
    names = listed(dict.fromkeys("/".join(map(str, path)) for path in found))
    pending = earlier_untold(call, board.ledger) if board.config.ledger else []
    ask = f"Ask the user for {names}, and end your turn with that question."
    if pending:
        ask = (
            f"If a result tells it, wait for {labels(pending, call.task)}. Otherwise ask the user."
        )
    return Reject(
        guard=NAME,
        reason=f"No source was found for {names}. Looked in the messages of the user, the system "
        f"prompt, the results and earlier answers of this conversation, and the schema. {ask} "
        "If the user leaves the choice to you, repeat the value: it passes the second time.",
        on=keys(pending),
    )


def untold_values(call: Call, spec: ToolSpec, board: Scoreboard) -> dict[Path, Any]:
    """Return the required values of a call that have no source, by their place."""
    required = frozenset((spec.parameters or {}).get("required", ()))
    told = board.evidence.conversation()
    request = [board.evidence.prompt, *board.evidence.request]
    derivation = Derivation(told, request=request, answers=board.evidence.answers())
    # The rules stand in the order of their cost; nearly every value is told.
    return {
        path: value
        for path, value in own_leaves(call.arguments)
        if path
        and path[0] in required
        and not told.has(value)
        and not is_fixed(spec.parameters, call.arguments, path)
        and not is_offered(spec.parameters, value, path)
        and not worded_freely(value, path, spec)
        and not _is_wording(value, path, spec, told)
        and not _is_known(value, path, spec)
        and not derivation.follows(value)
    }


def _is_known(value: Any, path: Path, spec: ToolSpec) -> bool:
    """Return True for a value of a kind that a model knows or chooses by itself."""
    if value in (0, 1):
        return True
    about = described(spec.parameters, path).casefold()
    if isinstance(value, str):
        if _STATION.fullmatch(value) and _NAMES_STATION.search(about):
            return True
        return bool(_CODE.fullmatch(value) and _NAMES_CODE.search(about))
    return bool(
        (_NAMES_PLACE.search(about) and abs(value) <= 180) or _NAMES_PAGE.search(_name(path))
    )


def _is_wording(value: Any, path: Path, spec: ToolSpec, told: Sources) -> bool:
    """Return True for a text that the model words itself, by the argument's name and schema."""
    return (
        isinstance(value, str)
        and is_unconstrained(spec.parameters, path)
        and _NAMES_WORDING.search(_name(path)) is not None
        and told.has_matter(value)
    )


def _name(path: Path) -> str:
    names = [token for token in path if isinstance(token, str)]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", names[-1]).casefold() if names else ""


def _sent_back(call: Call, path: Path, value: Any, board: Scoreboard) -> bool:
    """Return True if the model was told before that this value of the argument has no source."""
    return any(
        former.guard == NAME
        and former.state is CallState.REJECTED
        and former.delivered
        and any(
            place == path and canonical_json(each) == canonical_json(value)
            for place, each in own_leaves(former.call.arguments)
        )
        for former in board.ledger.of_tool(call.task, call.tool)
    )
