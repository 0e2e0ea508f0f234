"""Mistakes in the list of middleware that the guard can see from inside it.

``guard_middleware`` puts the guard in its place. A caller who writes the list by hand gets no such
help from ``create_agent``, which shows a middleware nothing of its neighbours.
"""

import logging

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.langgraph_internals.nodes import nodes_of
from asyncguard.errors import CallerError

ONE_GUARD = (
    "middleware must hold at most one AsyncGuardMiddleware, as one guards all tools; "
    "remove the others."
)
_log = logging.getLogger("asyncguard")
_APPROVAL = f"{HumanInTheLoopMiddleware.__name__}.after_model"


class GuardName(str):
    """Name of one guard, which does not bear comparison with that of another guard.

    ``create_agent`` compares the names of a list to find duplicates, and reports them with a bare
    ``AssertionError``. The comparison is the only moment at which two guards of one agent meet, so
    the error that says what to do is raised there.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare as text.

        Raises:
            CallerError: The other is the name of another guard.
        """
        if isinstance(other, GuardName) and other is not self:
            raise CallerError(ONE_GUARD)
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        """Return that of the guard's own class for all guards: names of one hash are compared."""
        return hash("AsyncGuardMiddleware")


def report_early_place(config: RunnableConfig, name: str) -> None:
    """Log a warning if middleware stands on the wrong side of the guard in the agent's list.

    Args:
        config: Of a hook of the guard.
        name: Name of the guard.
    """
    # The nodes of an agent are in the order of its middleware.
    nodes = nodes_of(config)
    first = next(node for node in nodes if node.endswith(".before_agent"))
    ends_too = first.replace(".before_agent", ".after_agent") in nodes
    if first != f"{name}.before_agent" and not ends_too:
        _log.warning(
            "%s runs before the guard: if a run stops there and is continued with None, tasks and "
            "cancel of its input are lost. In a list of your own, guard_middleware(...) puts it "
            "after; where a library makes the list, as create_deep_agent does, pass tasks and "
            "cancel once more instead of None.",
            first,
        )
    own = f"{name}.after_agent"
    later = nodes[nodes.index(own) + 1 :] if own in nodes else []
    if early := next((node for node in later if node.endswith(".after_agent")), None):
        _log.warning(
            "%s runs whenever the model speaks while calls run, because its middleware stands "
            "after the guard: it may end what they need. guard_middleware(...) puts it before.",
            early,
        )
    if _APPROVAL in later:
        _log.warning(
            "The guard stands before HumanInTheLoopMiddleware, so people are asked about calls "
            "that it rejects, and what they edit runs unjudged; pass the list through "
            "guard_middleware(...), which puts it after."
        )
