"""Two agents: one looks every name up, the other knows everybody."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.speaking import Decision, SpeakingAgent
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed


class PoliteAgent(OracleAgent):
    """Agent that greets everybody."""


class FamiliarAgent(SpeakingAgent):
    """Agent that greets without a look at the register."""

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        said = sum(isinstance(message, AIMessage) for message in messages)
        left = [("toy-b1", "Ada"), ("toy-b2", "Grace")][said:]
        if not left:
            return Completed()
        return (CallAction(task_id=left[0][0], tool="greet", arguments={"name": left[0][1]}),)
