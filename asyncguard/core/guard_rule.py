"""Declaration of a guard of the user's own."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from asyncguard.config import GUARD_NAMES, OPT_IN_GUARDS, SWITCH_NAMES
from asyncguard.core.admission import Proposal, Verdict
from asyncguard.core.board_view import BoardView
from asyncguard.core.scoreboard import OPERANDS
from asyncguard.errors import DeclarationError
from asyncguard.validation import check_fields

_TAKEN = frozenset({*SWITCH_NAMES, "approval", "readable", OPERANDS})
"""Names under which the runtime itself reports a verdict, and its switches."""


@dataclass(frozen=True, kw_only=True)
class GuardRule:
    """A guard of the user's own, for ``GuardConfig.extra``."""

    name: str
    """Name in events, traces and reports: ASCII, like a Python identifier, and of no built-in."""
    judge: Callable[[Proposal, BoardView], Verdict]
    """A pure and quick function from one call and a view of the thread to a verdict.

    It is asked when a call is proposed, and again at its release or after an approval. It must not
    wait, and must not change the declarations (``ToolSpec``) that it is shown.
    """
    before: str | None = None
    """Built-in guard before which it is asked; by default it is asked after all of them."""
    on_error: Literal["reject", "admit"] = "reject"
    """Fate of a call that it fails to judge: refused, or judged by the other guards."""

    def __post_init__(self) -> None:
        """Refuse what would be an error in each run.

        Raises:
            DeclarationError: A field has another type, the name is taken or no identifier, the
                function is a coroutine function, or ``before`` names no guard that judges calls.
        """
        check_fields(self, DeclarationError)
        if not (self.name.isascii() and self.name.isidentifier()) or self.name in _TAKEN:
            raise DeclarationError(
                f"GuardRule.name must be an ASCII identifier that is not a name of asyncguard's "
                f"own, not {self.name!r}."
            )
        code: Any = self.judge
        if inspect.iscoroutinefunction(code) or inspect.iscoroutinefunction(type(code).__call__):
            raise DeclarationError(
                f"GuardRule {self.name}: judge is a coroutine function; give a plain function."
            )
        known = [name for name in (*GUARD_NAMES, *OPT_IN_GUARDS) if name != "completion"]
        if self.before is not None and self.before not in known:
            raise DeclarationError(
                f"GuardRule {self.name}: before={self.before!r} is not a guard that judges calls; "
                f"choose from {', '.join(known)}."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the rule as plain JSON values, in which the function is ``module:name``."""
        code = self.judge if hasattr(self.judge, "__qualname__") else type(self.judge)
        return {
            "name": self.name,
            "judge": f"{code.__module__}:{code.__qualname__}",
            "before": self.before,
            "on_error": self.on_error,
        }
