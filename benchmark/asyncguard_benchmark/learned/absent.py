"""The error of an installation without the extra `learned`."""

from collections.abc import Iterator
from contextlib import contextmanager

from asyncguard_benchmark.errors import BenchmarkError

ADVICE = (
    "the learned agent needs PyTorch, safetensors and tokenizers, and {missing} is not installed: "
    "pip install 'asyncguard[learned]'"
)


class ExtraAbsentError(BenchmarkError):
    """A library of the extra `learned` is not installed; the message says how to get it."""


@contextmanager
def needed() -> Iterator[None]:
    """Say what to install if an import within fails because a library is not there.

    Raises:
        ExtraAbsentError: it is not.
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("torch", "safetensors", "tokenizers"):
            raise
        raise ExtraAbsentError(ADVICE.format(missing=problem.name)) from problem
