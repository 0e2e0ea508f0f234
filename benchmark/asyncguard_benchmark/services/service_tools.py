"""The two common kinds of tools that a service with a state has."""

from typing import Any

from asyncguard_benchmark.services.declarations import Effect, Tool, arguments


def reader(
    name: str, description: str, run: Any, reads: tuple[str, ...], /, **properties: Any
) -> Tool:
    """Return a tool that only looks; `properties` are the schemas of its arguments."""
    schema = arguments(**properties)
    return Tool(
        name=name,
        description=description,
        parameters=schema,
        effect=Effect.PURE,
        reads=reads,
        run=run,
    )


def writer(
    name: str,
    description: str,
    run: Any,
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    /,
    **properties: Any,
) -> Tool:
    """Return a tool that must not be repeated; `properties` are the schemas of its arguments."""
    return Tool(
        name=name,
        description=description,
        parameters=arguments(**properties),
        effect=Effect.AT_MOST_ONCE,
        reads=reads,
        writes=writes,
        run=run,
    )


def setter(
    name: str,
    description: str,
    run: Any,
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    /,
    **properties: Any,
) -> Tool:
    """Return a tool whose repetition leaves and answers the same; `properties` are the schemas of its arguments."""
    return Tool(
        name=name,
        description=description,
        parameters=arguments(**properties),
        effect=Effect.IDEMPOTENT,
        reads=reads,
        writes=writes,
        run=run,
    )
