"""The benchmark's simulated agents as models of Inspect: ``--model asyncguard/eager``. They need no network.

An agent works by the plan of its composition. Which one that is stands in the metadata of the first message, where the
solvers of this package put it; so the same model serves every sample, as a real one does.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict, override

from asyncguard_benchmark.errors import BenchmarkError, UnknownNameError
from asyncguard_benchmark.harness.agents.speaking import SpeakingAgent
from asyncguard_benchmark.harness.inspect_bridge.messages import (
    assistant,
    from_inspect,
    openai_tool,
)
from asyncguard_benchmark.harness.registry import AgentSpec, agent_class
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.suites import registry

NOTE = "asyncguard"
"""Key of the metadata of a first message that holds a `Place`."""
_KEPT = 64
"""Agents that a model keeps; as many episodes may run at once without one being made again."""


class Place(TypedDict):
    """Episode of a request: what a simulated agent draws and plans by."""

    suite: str
    """Set of compositions."""
    composition: str
    seed: int


_PLACE = TypeAdapter(Place)


class UnplacedRequestError(BenchmarkError):
    """A simulated agent was asked outside the tasks of asyncguard_benchmark: it has no plan for anything else."""


class ParallelAgentError(BenchmarkError):
    """An agent makes several calls in a message, which the tasks allow no model; `bench run` plays it."""


@cache
def compositions_of(suite: str) -> Mapping[str, Composition]:
    """Return the compositions of a set under their ids.

    Raises:
        UnknownNameError: there is no such set.
    """
    owner = registry().suite_of_set(suite)
    return {each.id: each for each in owner.load(owner.compositions)(suite)}


@modelapi(name="asyncguard")
class SimulatedAgents(ModelAPI):
    """Model provider of the simulated agents; model arguments (``-M distractor_rate=0.5``) are an agent's settings."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as every provider of Inspect has it; never changed
        **model_args: Any,
    ) -> None:
        """Look the agent up.

        Raises:
            UnknownNameError: there is no such agent.
            ParallelAgentError: it makes several calls in a message.
        """
        super().__init__(model_name, base_url, api_key, [], config)
        maker = agent_class(model_name)
        if maker.model_fields["parallel"].default:
            raise ParallelAgentError(
                f"the agent {model_name} makes several calls in a message, which no model is allowed in these tasks; "
                f"play it with `asyncguard bench run --agents {model_name} --surfaces native`"
            )
        unknown = sorted(set(maker.fields_of(model_name, model_args)) - set(maker.model_fields))
        if unknown:
            raise UnknownNameError(f"the agent {model_name} has no {', '.join(unknown)}")
        spec = AgentSpec(kind=model_name, settings=model_args)

        @lru_cache(maxsize=_KEPT)
        def agent(suite: str, composition: str, seed: int) -> SpeakingAgent:
            return spec.make(compositions_of(suite)[composition], seed)

        self._agent = agent

    @override
    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return what the agent says to a conversation; sampling options mean nothing to it.

        Raises:
            UnplacedRequestError: the conversation is not of a task of this package.
        """
        place = _place(input)
        agent: Any = self._agent(place["suite"], place["composition"], place["seed"])
        if tools:
            agent = agent.bind_tools([openai_tool(tool) for tool in tools])
        message = assistant(agent.say(from_inspect(input)))
        message.model = self.model_name
        choice = ChatCompletionChoice(
            message=message, stop_reason="tool_calls" if message.tool_calls else "stop"
        )
        return ModelOutput(model=self.model_name, choices=[choice])


def _place(messages: Sequence[ChatMessage]) -> Place:
    note = (messages[0].metadata or {}).get(NOTE) if messages else None
    try:
        return _PLACE.validate_python(note)
    except ValidationError as problem:
        raise UnplacedRequestError(
            "a simulated agent was asked outside the tasks of asyncguard_benchmark, and has no plan for anything else; "
            "name a model of another provider, or run `inspect eval asyncguard_benchmark/asynctool`"
        ) from problem
