"""Events as structured log records, by structlog.

structlog is used, never configured: an application's own configuration decides where the records go
and how they look. :func:`console_logger` is for programs without a configuration.
"""

import logging
import os
import sys
from typing import Any, TextIO

import structlog
from structlog.typing import Processor

from asyncguard.core import events as ev
from asyncguard.errors import CallerError
from asyncguard.observability.fields.record import fields
from asyncguard.observability.observer import Details, Observer
from asyncguard.observability.readable import readable

_WARNINGS = (
    ev.CallObjected,
    ev.CallRejected,
    ev.CallDiagnosed,
    ev.CallSquashed,
    ev.CircuitMoved,
)


def log_events(logger: Any = None, *, payloads: bool = False) -> Observer:
    """Return an observer that writes every event as one structured record.

    Rejections, objections in shadow mode, recoveries, squashed calls and calls that ended without a
    result are warnings, all else is info.

    Args:
        logger: A structlog logger; ``structlog.get_logger("asyncguard")`` by default, which follows
            the application's configuration.
        payloads: True to include arguments, results, goals and reasons.

    Raises:
        CallerError: The logger is not one of structlog.
    """
    log = structlog.get_logger("asyncguard") if logger is None else logger
    # The standard library's own loggers have these methods, and take no fields.
    if isinstance(log, logging.Logger) or not (hasattr(log, "info") and hasattr(log, "warning")):
        raise CallerError(
            f"log_events: logger must be a logger of structlog, not {type(log).__name__}."
        )

    def observe(details: Details) -> None:
        row = fields(details, payloads=payloads)
        event = details.event
        match event:
            case ev.CallRetired():
                warns = event.outcome is not ev.Outcome.DONE
            case ev.CallRecovered():
                warns = not event.asked
            case _:
                warns = isinstance(event, _WARNINGS)
        write = log.warning if warns else log.info
        write(row.pop("event"), **row)

    return observe


def console_logger(stream: TextIO | None = None, *, color: bool | None = None) -> Any:
    """Return a structlog logger for a terminal; nothing global is configured.

    Args:
        stream: Stream to write to, standard error by default.
        color: True to colour; by default if the stream is a terminal and ``NO_COLOR`` is not set.
    """
    out = sys.stderr if stream is None else stream
    colors = out.isatty() and not os.environ.get("NO_COLOR") if color is None else color
    processors: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
        lambda _logger, _method, record: readable(record),
        structlog.dev.ConsoleRenderer(colors=colors, sort_keys=False),
    ]
    # All parts are given: those left out would come from the application's configuration.
    return structlog.wrap_logger(
        structlog.WriteLogger(out),
        processors=processors,
        wrapper_class=structlog.BoundLogger,
        context_class=dict,
    )
