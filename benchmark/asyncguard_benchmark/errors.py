"""Errors of the benchmark, named by whose fault they are."""


class BenchmarkError(Exception):
    """Base class of everything that the benchmark raises on purpose."""


class DataError(BenchmarkError):
    """A data file breaks its format; the message names the place."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


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
