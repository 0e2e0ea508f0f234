"""Errors of the benchmark, named by whose fault they are."""

from collections.abc import Iterable


class BenchmarkError(Exception):
    """Base class of everything that the benchmark raises on purpose."""


class DataError(BenchmarkError):
    """A data file breaks its format; the message names the place."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem

    @property
    def problems(self) -> tuple["DataError", ...]:
        """Everything that is complained of, each with its place."""
        return (self,)


class DataErrors(DataError):
    """An entry of a data file breaks its format in several places; the message names the first."""

    def __init__(self, problems: Iterable[DataError]) -> None:
        """Put complaints together.

        Args:
            problems: The complaints, at least one.
        """
        self._problems = tuple(each for several in problems for each in several.problems)
        super().__init__(self._problems[0].where, self._problems[0].problem)

    @property
    def problems(self) -> tuple[DataError, ...]:
        """Everything that is complained of, each with its place."""
        return self._problems


class EpisodeFormatError(DataError):
    """A saved episode cannot be read back; nothing of it is scored."""


class UnknownNameError(BenchmarkError):
    """No agent, player or arm has this name; the message lists those there are."""


class UnknownSubTaskError(BenchmarkError):
    """A player issued a call for a sub-task that the composition does not hold; players must check ids first."""


class ToolFailure(BenchmarkError):
    """A tool refuses a call and has changed nothing; the executor turns it into an ``{"error": ...}`` result."""


class RefusedCall(ToolFailure):
    """A call that no tool can take as it is: there is no such tool, or its arguments do not fit."""


class ForeignCodeRefused(BenchmarkError):
    """Code of another benchmark would run, and the user has not allowed it."""


class WorkersError(BenchmarkError):
    """Workers cannot be reached, are of another version, or end again and again; what they did not play is missing."""
