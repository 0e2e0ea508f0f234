"""A second guard in the list of middleware, the one mistake there that a guard can see from inside."""

from asyncguard.errors import CallerError

ONE_GUARD = (
    "middleware must hold at most one AsyncGuardMiddleware, as one guards all tools; "
    "remove the others."
)


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

    __hash__ = str.__hash__
