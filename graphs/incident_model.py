"""The skills of a simulated model at the incident desk; the model itself is in ``simulated_model.py``.

It understands sentences such as these, one a task::

    Handle the incident of checkout
    What is the latency of search?
    Compare the monitors of payments

This file is loaded by path and imports nothing from its folder.
"""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from langchain_core.language_models import BaseChatModel

_SLOW = 2000
"""Milliseconds from which on an incident is of severity 1."""
_HELP = "I am a simulated model. I can handle the incident of a service, tell its latency, or compare its monitors."


def make_model(simulated: ModuleType) -> BaseChatModel:
    """A simulated model with these skills.

    Args:
        simulated: The module of ``simulated_model.py``.
    """
    search = simulated.Step(tool="search_logs", needs=("service",), learns=_from_logs)
    query = simulated.Step(tool="query_metrics", needs=("service",), learns=_from_metrics)
    replica = simulated.Step(tool="query_replica", needs=("service",), learns=_from_metrics)
    ticket = simulated.Step(
        tool="create_ticket", needs=("service", "title", "severity"), learns=_from_ticket
    )
    notify = simulated.Step(
        tool="notify", needs=("channel", "text"), learns=lambda said: {"message": said["message"]}
    )
    skills = (
        simulated.Skill(
            pattern=re.compile(r"incident of (?P<service>\w+)", re.IGNORECASE),
            steps=(search, query, ticket, notify),
            answer="{title}, p95 {p95:g} ms: {ticket}, severity {severity}; {channel} is told ({message}).",
        ),
        simulated.Skill(
            pattern=re.compile(r"latency of (?P<service>\w+)", re.IGNORECASE),
            steps=(query,),
            answer="The p95 of {service} is {p95:g} ms.",
        ),
        simulated.Skill(
            pattern=re.compile(r"monitors of (?P<service>\w+)", re.IGNORECASE),
            steps=(query, replica),
            answer="The monitors of {service} say {p95:g} ms.",
        ),
    )
    model: BaseChatModel = simulated.SimulatedModel(skills=skills, greeting=_HELP)
    return model


def _from_logs(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"title": f"{said['service']}: {said['message']} ({said['errors']} errors)"}


def _from_metrics(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"p95": said["p95"], "severity": 1 if said["p95"] >= _SLOW else 2}


def _from_ticket(said: Mapping[str, Any]) -> dict[str, Any]:
    text = f"{said['ticket']} (severity {said['severity']}): {said['title']}"
    return {"ticket": said["ticket"], "channel": said["channel"], "text": text}
