"""An agent that is right, and does not keep to the form in which it is to say so."""

from random import Random

from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.schedulers import OracleAgent

_FORMS = (
    "```json\n{}\n```",
    "Now I make this call: {}",
    "{}\nI wait for its result.",
    "<think>The next step is clear.</think>\n{}",
)
"""Habits of models: a code fence, a sentence before or after, a thought."""


class SloppyAgent(OracleAgent):
    """The oracle, which says some calls in another form than the one asked for: in a fence, or with words around them.

    An error makes it say the next message as asked. It has no name of its own in the suite: it measures
    what reading under one contract or the other is worth, and no guard. On the native surface it is the oracle.
    """

    seed: int = 0
    """Seed of the forms; each draw depends on seed, composition and number of the message only."""
    rate: float = 0.25
    """Share of calls in another form."""

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the oracle's message, in some form."""
        said = super().say(messages)
        number = sum(isinstance(each, AIMessage) for each in messages)
        random = Random(repr((self.seed, self.plan.composition_id, number, "form")))
        if (
            '"func_name": ' not in str(said.text)
            or '{"error": ' in str(messages[-1].text).replace('\\"', '"')
            or random.random() >= self.rate
        ):
            return said
        return AIMessage(random.choice(_FORMS).format(said.text))
