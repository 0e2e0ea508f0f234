"""Tools whose calls are stored in one release and carried on in another.

They write their effects to a file and end the process where they are told to. Only what both releases have is used.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard import ToolFault, guarded

EFFECTS = "effects.txt"
TOKEN = "token.txt"
REFUSED = "refused.txt"


@dataclass(frozen=True)
class Ground:
    """Folder of the effects, and the death of the process."""

    folder: Path
    """Holds the files of effects, tokens and refusals."""
    die: bool
    """True if tools end the process in the middle of a call."""

    def effect(self, tool: str, order: str, key: str = "", *, survive: bool = False) -> str:
        """Write an effect to the disk, and die after it unless the tool survives."""
        with (self.folder / EFFECTS).open("a", encoding="utf-8") as file:
            file.write(f"{tool} {order} {key}\n")
            file.flush()
            os.fsync(file.fileno())
        if not survive:
            self.perish()
        return f"{tool} did order {order}"

    def perish(self) -> None:
        """End the process without a word, if this is the process that shall die."""
        if self.die:
            os._exit(9)

    def happened(self, tool: str) -> bool:
        """Tell whether a tool has had its effect."""
        file = self.folder / EFFECTS
        return file.exists() and tool in file.read_text(encoding="utf-8")

    def first(self) -> bool:
        """Tell whether nothing has been refused yet, and note that it is refused now."""
        file = self.folder / REFUSED
        if file.exists():
            return False
        file.write_text("refused", encoding="utf-8")
        return True


class ConnectionLost(Exception):
    """Stand for an answer that never came; the effect may have begun."""


class Unprocessable(Exception):
    """Stand for a service that refuses the arguments."""

    status_code = 422


def for_workers(ground: Ground) -> list[Any]:
    """Make the tools that workers can run, too: one of each effect class."""

    @guarded(effect="pure")
    def look_up(order: str) -> str:
        """Look an order up."""
        return ground.effect("look_up", order)

    @guarded(effect="idempotent")
    def set_limit(order: str) -> str:
        """Set a limit; once more changes nothing."""
        return ground.effect("set_limit", order)

    @guarded(effect="keyed", key_argument="key")
    def pay_keyed(order: str, key: str = "") -> str:
        """Pay under a key."""
        return ground.effect("pay_keyed", order, key)

    @guarded(effect="pure")
    def was_paid(order: str) -> dict[str, Any]:
        """Tell whether an order was paid."""
        return {"happened": ground.happened("pay_probed"), "result": f"a probe found order {order}"}

    @guarded(effect="probed", probe="was_paid")
    def pay_probed(order: str) -> str:
        """Pay; there is a probe."""
        return ground.effect("pay_probed", order)

    @guarded(effect="at_most_once")
    def pay_once(order: str) -> str:
        """Pay once."""
        return ground.effect("pay_once", order)

    return [look_up, set_limit, pay_keyed, was_paid, pay_probed, pay_once]


def for_people(ground: Ground) -> list[Any]:
    """Make the tools whose calls wait for a person or a letter, or go on while the model does."""

    @guarded(mode="external", token_argument="token")
    def ask_notary(order: str, token: str = "") -> str:
        """Have a document certified; the answer comes by post."""
        (ground.folder / TOKEN).write_text(token, encoding="utf-8")
        return "The letter is on its way."

    @guarded(effect="pure", mode="external", token_argument="token")
    def ask_archive(order: str, token: str = "") -> str:
        """Ask an archive for a copy, which costs nothing; the answer comes by post."""
        (ground.folder / TOKEN).write_text(token, encoding="utf-8")
        return "The request is on its way."

    @guarded(approval=True)
    def approve_payment(order: str) -> str:
        """Pay after a person has said yes."""
        return ground.effect("approve_payment", order)

    @guarded(approval=True, effect="keyed", key_argument="key")
    def approve_keyed(order: str, key: str = "") -> str:
        """Pay under a key after a person has said yes."""
        return ground.effect("approve_keyed", order, key)

    @guarded(effect="keyed", key_argument="key", mode="background")
    def pay_keyed_later(order: str, key: str = "") -> str:
        """Pay under a key while the model goes on."""
        time.sleep(1.0 if ground.die else 0.0)  # until the model has spoken and the run waits
        return ground.effect("pay_keyed_later", order, key)

    @guarded(effect="probed", probe="was_paid", mode="background")
    def pay_probed_later(order: str) -> str:
        """Pay while the model goes on; there is a probe."""
        time.sleep(1.0 if ground.die else 0.0)
        return ground.effect("pay_probed_later", order)

    return [
        ask_notary,
        ask_archive,
        approve_payment,
        approve_keyed,
        pay_keyed_later,
        pay_probed_later,
    ]


def failing(ground: Ground) -> list[Any]:
    """Make the tools of effects that fail or come in turn, and the helper that recovery asks about them."""

    @guarded(effect="at_most_once")
    def fail_payment(order: str) -> str:
        """Pay, and lose the receipt."""
        ground.effect("fail_payment", order)
        raise RuntimeError("the receipt was lost")

    @guarded(effect="keyed", key_argument="key")
    def pay_flaky(order: str, key: str = "") -> str:
        """Pay under a key; the first attempt is refused and asks for patience."""
        if ground.first():
            raise ToolFault("come back later", transient=True, started=False)
        return ground.effect("pay_flaky", order, key)

    @guarded(effect="keyed", key_argument="key", reads=[], writes=["account"])
    def pay_in_turn(order: str, key: str = "") -> str:
        """Pay from an account, one order after the other."""
        return ground.effect("pay_in_turn", order, key)

    @guarded(effect="pure")
    def was_sent(order: str) -> dict[str, Any]:
        """Tell whether a transfer was sent; where processes die, in this question."""
        ground.perish()
        return {"happened": ground.happened("send"), "result": f"a probe found order {order}"}

    @guarded(effect="probed", probe="was_sent")
    def send(order: str) -> str:
        """Send a transfer whose answer is lost."""
        ground.effect("send", order, survive=True)
        raise ConnectionLost("no answer")

    @guarded(effect="probed", probe="was_sent")
    def remit(order: str) -> str:
        """Send a transfer; the first request is lost on its way."""
        if ground.first():
            raise ConnectionLost("no answer")
        return ground.effect("remit", order)

    return [fail_payment, pay_flaky, pay_in_turn, was_sent, send, remit]


def refused(ground: Ground) -> list[Any]:
    """Make the tools of effects that are refused, and the helpers that recovery calls in their stead."""

    @guarded(effect="pure")
    def contract_of(tool: str) -> dict[str, Any]:
        """Tell the live contract of a tool; where processes die, in this question."""
        ground.perish()
        number = {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        }
        return {"parameters": number, "returns": {"type": "string"}}

    @guarded(effect="keyed", key_argument="key", atomic=True, contract="contract_of")
    def book(order: str, key: str = "") -> str:
        """Book an order; the service refuses."""
        raise Unprocessable("unknown field: order")

    @guarded(effect="at_most_once")
    def pay_elsewhere(order: str) -> str:
        """Pay at another bank."""
        return ground.effect("pay_elsewhere", order)

    @guarded(effect="at_most_once", fallbacks=["pay_elsewhere"])
    def pay_here(order: str) -> str:
        """Pay at a bank that is closed."""
        raise ToolFault("closed for good", transient=False, started=False)

    return [contract_of, book, pay_elsewhere, pay_here]


def for_questions(ground: Ground) -> list[Any]:
    """Make the lookups with other sources."""
    schema = {
        "type": "object",
        "properties": {"rate": {"type": "number", "maximum": 100}},
        "required": ["rate"],
    }

    @guarded(effect="pure")
    def rate_elsewhere(order: str) -> dict[str, Any]:
        """Tell a rate; where processes die, in this question."""
        ground.perish()
        return {"rate": 17}

    @guarded(effect="pure")
    def rate_abroad(order: str) -> dict[str, Any]:
        """Tell a rate, too."""
        return {"rate": 17}

    @guarded(effect="pure", sources=["rate_elsewhere", "rate_abroad"], result_schema=schema)
    def rate(order: str) -> dict[str, Any]:
        """Tell a rate that cannot be."""
        return {"rate": 1700}

    @guarded(effect="pure")
    def find_elsewhere(order: str) -> str:
        """Find an order in the copy of an archive; where processes die, in this question."""
        ground.perish()
        return f"order {order} is in the copy"

    @guarded(effect="pure", fallbacks=["find_elsewhere"])
    def find(order: str) -> str:
        """Find an order in an archive that has burnt down."""
        raise ToolFault("burnt down", transient=False)

    return [rate_elsewhere, rate_abroad, rate, find_elsewhere, find]


GROUPS: tuple[Callable[[Ground], list[Any]], ...] = (
    for_workers,
    for_people,
    failing,
    refused,
    for_questions,
)
"""All tools of an agent without workers, by subject."""
