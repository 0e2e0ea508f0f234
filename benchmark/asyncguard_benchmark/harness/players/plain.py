"""The unguarded loop of the paper: agent and environment take turns."""

from collections.abc import Callable

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from asyncguard_benchmark.harness.environment import Environment, most_rounds
from asyncguard_benchmark.harness.episode import Episode, Run, finished
from asyncguard_benchmark.harness.protocol.actions import (
    Action,
    CallAction,
    Completed,
    Idle,
    Malformed,
)
from asyncguard_benchmark.harness.protocol.surfaces import (
    NativeSpeech,
    Speech,
    Step,
    TextSpeech,
    native_tools,
)
from asyncguard_benchmark.harness.scenario import Composition, Surface

NAME = "plain"


def play_plain(
    composition: Composition,
    agent: BaseChatModel,
    run: Run,
    *,
    parallel_calls: bool = False,
    example: str | None = None,
) -> Episode:
    """Let the agent talk to the environment until it says that all is completed, or the cap is reached.

    Args:
        composition: The tasks.
        agent: Any chat model.
        run: Regime, surface and seed.
        parallel_calls: True if several calls in one message are allowed, native surface only. The paper allows one.
        example: One successful trajectory for the system prompt.
    """
    speech, model = _surface(composition, agent, run, parallel=parallel_calls, example=example)
    environment, messages = converse(composition, speech, model.invoke, run)
    return finished(
        environment,
        messages,
        run,
        agent=agent.get_name(),
        player=NAME,
        parallel_calls=parallel_calls,
        example=example,
    )


def converse(
    composition: Composition,
    speech: Speech,
    ask: Callable[[list[BaseMessage]], AIMessage],
    run: Run,
) -> tuple[Environment, list[BaseMessage]]:
    """Let an agent talk to the environment of a composition.

    Args:
        composition: The tasks.
        speech: Language of the agent.
        ask: Returns the next message of the agent.
        run: Regime and seed.

    Returns:
        The environment and the messages when the run is over.
    """
    environment = Environment(composition, run.regime, run.seed)
    messages: list[BaseMessage] = speech.opening()
    while True:
        message = ask(messages)
        environment.begin_round()
        messages.append(message)
        actions = speech.read(message)
        if any(isinstance(action, Completed) for action in actions):
            break
        steps = [take(environment, action) for action in actions]
        reply = speech.reply(steps, environment.due())
        if environment.counters.rounds == most_rounds(composition):
            environment.note_truncated()
            break  # the last reply is not sent, so it does not belong to the conversation
        messages += reply
    return environment, messages


def _surface(
    composition: Composition,
    agent: BaseChatModel,
    run: Run,
    *,
    parallel: bool,
    example: str | None,
) -> tuple[Speech, Runnable[LanguageModelInput, AIMessage]]:
    if run.surface is Surface.TEXT:
        return TextSpeech(composition, example=example, contract=run.contract), agent
    return NativeSpeech(composition, example=example, parallel=parallel), agent.bind_tools(
        native_tools(composition)
    )


def take(environment: Environment, action: Action) -> Step:
    """Carry out one action and count it."""
    match action:
        case CallAction():
            return Step(
                action=action,
                record=environment.issue(action.task_id, action.tool, action.arguments),
            )
        case Malformed():
            environment.note_format_error()
        case Idle():
            environment.note_idle_turn()
        case Completed():
            pass
    return Step(action=action)
