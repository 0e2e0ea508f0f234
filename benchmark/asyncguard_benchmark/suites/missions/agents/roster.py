"""The simulated agents by name."""

from collections.abc import Mapping

from asyncguard_benchmark.suites.missions.agents import mistaken
from asyncguard_benchmark.suites.missions.agents.oracle import Oracle

AGENTS: Mapping[str, type[Oracle]] = {
    "oracle": Oracle,
    "serial": mistaken.Serial,
    "asks-always": mistaken.AsksAlways,
    "inventing": mistaken.Inventing,
    "stand-in": mistaken.StandIn,
    "stale": mistaken.Stale,
    "forgetful": mistaken.Forgetful,
    "calls-in-chat": mistaken.CallsInChat,
    "answers-early": mistaken.AnswersEarly,
    "eager": mistaken.Eager,
    "out-of-order": mistaken.OutOfOrder,
}
