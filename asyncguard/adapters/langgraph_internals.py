"""All use of LangGraph beyond its public interface: keys of its configuration, its run, its notes.

Everything else goes through the modules that LangGraph documents. Each item here says why no public
call does the same, and what breaks if LangGraph changes.
``tests/adapters/test_langgraph_internals`` exercises each of them with the lowest and the
newest LangGraph that ``pyproject.toml`` allows, and ``tests/test_private_use`` finds such a use
anywhere else.

A node's configuration is LangGraph's documented way to a node; ``thread_id``, ``checkpoint_ns`` and
``checkpoint_id`` are documented keys of it, and all others are private. The public ``Runtime`` has
the ids of the task and of its checkpoint, and neither the checkpointer nor the run.
"""

import asyncio
import contextlib
import gc
import re
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import AsyncGeneratorType
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph._internal._config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.base import id as ids
from langgraph.prebuilt import ToolNode
from langgraph.pregel._loop import PregelLoop
from langgraph.types import Command, Interrupt

from asyncguard.runtime.clock import running_loop

_PATIENCE = 5.0
"""Seconds that the end of a run without a loop waits for one."""

# -- keys of a node's configuration --------------------------------------------------

SAVER = "__pregel_checkpointer"
"""Key of the checkpointer of a run, as a graph inside another one inherits it.

Why: the graph object has only the checkpointer that it was compiled with. Without the key a run
counts as one that stores nothing: no questions to a person, no fence, no journal beside it.
"""
DURABILITY = "__pregel_durability"
"""Key of the durability of a run.

Why: the caller may override it with each run, and ``compile()`` takes no default for it. Without
the key an agent stores its checkpoints asynchronously and waits for the one before an effect.
"""
CHECKPOINTS = "checkpoint_map"
"""Key of the checkpoints that a run stands on, by the namespace of its graph and those around it.

Why: ``Runtime.execution_info`` names the checkpoint of its own graph only. Without the key no
checkpoint is waited for before an effect, and no head is fenced.
"""
REPLAYED = "__pregel_replay_state"
"""Key that a run has while it goes back in time.

Why: such a run must not be fenced, and no public value distinguishes it. Without the key a run that
goes back in time on purpose is taken for a stale one, and is refused.
"""
RESUMED = "__pregel_resuming"
"""Key of whether a run continues from a checkpoint that it has not put itself.

Why: no public value tells. Without the key a resumed run looks for an input of its own among the
newest checkpoints, and may be compared with the wrong one.
"""
_CALL = "__pregel_call"
_INTERRUPT = "__interrupt__"
_NULL_TASK = "00000000-0000-0000-0000-000000000000"
_NODE_FINISHED = "__pregel_node_finished"
_READ = "__pregel_read"
_RESUME = "__resume__"
_RUNTIME = "__pregel_runtime"
_SCRATCHPAD = "__pregel_scratchpad"
_SEND = "__pregel_send"
_STREAM = "__pregel_stream"
_TASK = "__pregel_task_id"
_NEXT = "branch:to:"
_NEWEST_TIME = "_last_v6_timestamp"
_FARTHEST_AHEAD = 30 * 86400.0
"""Seconds by which the clock of another machine may be ahead."""
INTERRUPT_ID = re.compile("[0-9a-f]{32}")
"""Form of the ids of interrupts.

Why: LangGraph takes a mapping for answers by id if all its keys have this form, and has no public
test for it. With another form such an answer is taken for one to the question that comes next.
"""


def config_of_run(*configs: RunnableConfig | None) -> RunnableConfig:
    """Return the configuration that LangGraph gives a run, from its graph's and its caller's.

    Why: a run inside a node has the keys around it, unless one of the configurations names a place
    among the checkpoints. LangChain's function of this name puts the graph's keys in their stead.
    """
    return ensure_config(*configs)


def saver_of(config: RunnableConfig) -> Any:
    """Return the checkpointer of a run, ``None`` if it stores nothing.

    Args:
        config: Of a node; see :data:`SAVER`.
    """
    saver = config.get("configurable", {}).get(SAVER)
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def channels_of(config: RunnableConfig) -> Callable[[str], Any] | None:
    """Return the function that reads the channels of a graph as they are now.

    Why: a node gets the state of the beginning of its step, and the update of a ``Command`` that
    resumes it comes after. Without the function a cancellation in such an update is not seen.

    Args:
        config: Of a node.
    """
    read: Callable[[str], Any] | None = config.get("configurable", {}).get(_READ)
    return read


def next_nodes(stored: CheckpointTuple | None) -> list[str]:
    """Return the nodes that a stored thread continues with, also those that its graph has no more.

    Why: the public ``next`` of a thread names nodes of the present graph only. Without the prefix a
    thread that an older release left in a former hook is not found, and continues with nothing.

    Args:
        stored: The newest checkpoint of the thread, ``None`` without one.
    """
    values = {} if stored is None else stored.checkpoint["channel_values"]
    return [name.removeprefix(_NEXT) for name in values if name.startswith(_NEXT)]


def questions_in(stored: CheckpointTuple) -> list[Any]:
    """Return the values of the interrupts with which a run has stopped after a checkpoint.

    Why: the public ``get_state`` of a graph has them, and a node has no graph. Without the channel
    a call about which another middleware asks counts as one that was only interrupted.

    Args:
        stored: The checkpoint.
    """
    written = (value for _, channel, value in stored.pending_writes or () if channel == _INTERRUPT)
    return [each.value for items in written for each in items]


def questions_and_answers(stored: CheckpointTuple) -> list[tuple[list[Interrupt], list[Any]]]:
    """Return, for each task that has asked after a checkpoint, its questions and its answers.

    Why: the public ``get_state`` of a graph shows the questions of a task until it has returned,
    whether they are answered or not. Without the answers a person is asked again.

    Args:
        stored: The checkpoint.
    """
    asked, answers = dict[str, list[Interrupt]](), dict[str, list[Any]]()
    for task, channel, value in stored.pending_writes or ():
        if channel == _INTERRUPT:
            asked[task] = list(value)
        elif channel == _RESUME and isinstance(value, list):
            answers[task] = value
    return [(questions, answers.get(task, [])) for task, questions in asked.items()]


def writes_in(stored: CheckpointTuple, channel: str) -> list[Any]:
    """Return what a checkpoint holds of a channel, and what tasks wrote into it after it.

    Why: a node is given the state with the input folded in, and a new input drops the writes of a
    super-step that a question has stopped, which the public ``get_state`` had shown. Without them a
    caller who sends back what was shown seems to have made it up.

    Args:
        stored: The checkpoint.
        channel: Such as ``messages``, also one whose checkpoints hold the newest writes only.
    """
    values = stored.checkpoint["channel_values"]
    held = [getattr(values[channel], "value", values[channel])] if channel in values else []
    return held + [value for _, name, value in stored.pending_writes or () if name == channel]


# -- the answers for a node --------------------------------------------------


def scratchpad_of(config: RunnableConfig) -> Any:
    """Return the notes of the present execution of a task; another execution has other notes.

    Why: LangGraph executes a task again from its beginning when a question is answered, and no
    public value tells one execution from the other. Without the notes an answer that is there
    already is not expected, and may reach a later question.

    Args:
        config: Of a node.
    """
    return config.get("configurable", {}).get(_SCRATCHPAD)


def answers_of(notes: Any) -> list[Any]:
    """Return the list of answers that a task has received for its questions, in their order.

    Why: LangGraph matches answers to the questions of one execution by their order, and stores the
    list with the next question. No public value has it. Without it a person's words about one call
    are taken for words about another; nor is it known that a person has changed a call.

    Args:
        notes: Result of :func:`scratchpad_of`.

    Returns:
        The list itself: what is changed in it is what the rest of the execution finds.
    """
    found: list[Any] = getattr(notes, "resume", [])
    return found


def asked_before(config: RunnableConfig) -> list[Interrupt]:
    """Return the questions with which the present task has stopped in this super-step before.

    Why: an answer without a name goes to whichever task asks first, and the public state of a graph
    is not at hand in a node. Without the writes of the run, an answer to a question that an older
    release has put is not known to be one.

    Args:
        config: Of a node.
    """
    task = config.get("configurable", {}).get(_TASK)
    written = getattr(run_of(config), "checkpoint_pending_writes", ())
    return [
        question
        for name, channel, questions in written
        if name == task and channel == _INTERRUPT
        for question in questions
    ]


def stored_answers(found: "Run | CheckpointTuple | None") -> list[list[Any]]:
    """Return the lists of answers that the tasks of a super-step have stored.

    Why: an answer without a name goes to whichever task asks first, and the public state of a graph
    is not at hand in a node. Without the writes of the run it is not known which question was out.

    Args:
        found: A run, for those before its execution of the super-step, or a stored checkpoint.
    """
    if isinstance(found, CheckpointTuple):
        written = found.pending_writes or ()
    else:
        written = getattr(found, "checkpoint_pending_writes", ())
    return [each for _, channel, each in written if channel == _RESUME and isinstance(each, list)]


def has_written(config: RunnableConfig, found: CheckpointTuple, channel: str) -> bool:
    """Return True if a stored checkpoint holds what a node's task has written into a channel.

    Why: another process that runs the same task has put it there, and a saver keeps what comes
    first. The id of a task is known to no public function.

    Args:
        config: Of the node.
        found: Checkpoint of its super-step.
        channel: Name of the channel.
    """
    task = config["configurable"].get(_TASK)
    return any((by, name) == (task, channel) for by, name, _ in found.pending_writes or ())


def store_answers(config: RunnableConfig) -> None:
    """Have the answers of a task stored with the question at which its execution stops.

    Why: LangGraph stores them by itself only if a question has got one of them in this execution.

    Args:
        config: Of a node.
    """
    config["configurable"][_SEND]([(_RESUME, list(answers_of(scratchpad_of(config))))])


def storing_of_answers(
    config: RunnableConfig, answers: list[Any]
) -> tuple[Any, RunnableConfig, list[Any]] | None:
    """Return what stores the answers of a task at once.

    Why: LangGraph stores an answer by the id of its question, and what :func:`store_answers` gives
    it, when the task stops or returns. Without the function a question counts as open after its
    answer has taken effect in a process that died, and another answer to it is of no avail.

    Args:
        config: Of a node.
        answers: The answers.

    Returns:
        As :func:`answer_beside_update`; ``None`` if the run stores nothing before its end.
    """
    run = run_of(config)
    if run is None or run.checkpointer is None or run.durability == "exit":
        return None
    given, made = config["configurable"], run.checkpoint_config["configurable"]
    namespace = run.config["configurable"].get("checkpoint_ns", "")
    place = {**made, "checkpoint_ns": namespace, "checkpoint_id": newest_of(run)}
    return run.checkpointer, {"configurable": place}, [[(_RESUME, answers)], given[_TASK]]


def count_questions(notes: Any, number: int) -> None:
    """Have the next question of an execution be the one with a number, from 0.

    Why: LangGraph counts the questions itself. Without the count a middleware around the guard that
    asks in the same task, after it, is given an answer to a question of a tool.

    Args:
        notes: Result of :func:`scratchpad_of`.
        number: Higher than that of each question so far.
    """
    while notes.interrupt_counter() < number - 1:
        pass


def asking_with(
    config: RunnableConfig,
    answers: list[Any],
    place: Callable[[], int],
    unplaced: Callable[[bool], Any],
) -> RunnableConfig:
    """Return the configuration of a task with which a tool finds answers of its own only.

    Why: LangGraph gives the answers of a task to whichever of its questions come first.

    Args:
        config: Of a node.
        answers: What the task has received. Its length is part of the next question's id.
        place: Returns the place of the answer to the question that the tool asks next; of none if
            it is not in the list.
        unplaced: Returns the answer that a graph inside the tool may give to a question of its own,
            ``None`` without one; called with True to use it.
    """
    given = config["configurable"]
    notes = replace(
        given[_SCRATCHPAD], resume=answers, interrupt_counter=place, get_null_resume=unplaced
    )
    send = given[_SEND]

    def sent(writes: Sequence[tuple[str, Any]]) -> None:
        # With each answer that it gives, LangGraph would store the list up to there.
        if left := [each for each in writes if each[0] != _RESUME]:
            send(left)

    return {**config, "configurable": {**given, _SCRATCHPAD: notes, _SEND: sent}}


def used_answer(config: RunnableConfig) -> bool:
    """Return True if a question of this super-step has got the answer that waits for any question.

    Why: as for :func:`take_unplaced_answer`. An answer that no question has got, because a process
    died before, is still the one to the question that was asked.

    Args:
        config: Of a node.
    """
    waiting = waiting_answer(scratchpad_of(config))
    return waiting is not None and any(waiting in each for each in stored_answers(run_of(config)))


def answer_waits(notes: Any) -> bool:
    """Return True if a run was resumed with an answer for whichever question comes next.

    Why: as for :func:`take_unplaced_answer`. It stays so after the answer was taken.

    Args:
        notes: Result of :func:`scratchpad_of`.
    """
    return waiting_answer(notes) is not None


def waiting_answer(notes: Any) -> Any:
    """Return the answer of :func:`answer_waits`, ``None`` if there is none.

    Why: as for :func:`take_unplaced_answer`.

    Args:
        notes: Result of :func:`scratchpad_of`.
    """
    return notes.get_null_resume(False)  # noqa: FBT003 - its only parameter; it is not taken


def take_unplaced_answer(notes: Any) -> Any:
    """Take the answer that waits for whichever question of a super-step comes next.

    Why: LangGraph stores such an answer until its super-step ends, also after a question has
    consumed it, and gives it to the next question of a run that was resumed without one. Without
    the function a person's words about one call are taken for words about another.

    Args:
        notes: Result of :func:`scratchpad_of`.

    Returns:
        ``None`` if there is none, or it was taken before.
    """
    return notes.get_null_resume(True)  # noqa: FBT003 - its only parameter


def update_of(command: Command[Any]) -> Mapping[str, Any]:
    """Return the update of a command by channel.

    Why: it may be a mapping, a list of pairs or an object with annotations, and LangGraph alone
    knows how it reads the last. Without the method no ``Command`` is accepted as an input.

    Args:
        command: Input of an agent.
    """
    return dict(command._update_as_tuples())  # noqa: SLF001 - see above


# -- the run of a node --------------------------------------------------

Run = PregelLoop
"""Run of a graph.

Why: LangGraph gives nodes no access to their run. But it stores the input of a run before the first
node, resumes a thread from the newest checkpoint no matter which run put it, and has no event for
the end of a run, so that of two runs on one thread one would be lost. Each function below says what
it needs.
"""


def run_of(config: RunnableConfig) -> Run | None:
    """Return the run that a node belongs to.

    Tasks that a node starts go through the run's loop, so the configuration holds a bound method of
    it. A version of LangGraph that keeps it elsewhere has no runs here: two runs of a thread in one
    process are not kept apart, and answers that a caller gives are not found.

    Args:
        config: Of a node.
    """
    call = config.get("configurable", {}).get(_CALL)
    run = getattr(getattr(call, "keywords", {}).get("schedule_task"), "__self__", None)
    return run if isinstance(run, PregelLoop) else None


def calls_without_answer(config: RunnableConfig) -> set[str]:
    """Return the ids of the tool calls of a super-step whose tasks have not returned.

    Why: no public value of a node names the other tasks of its super-step. Without them a call of a
    lost process whose task LangGraph has not started yet counts as one whose task had returned.

    Args:
        config: Of a node of ``create_agent`` that executes one tool call.
    """
    ids = set()
    for task in getattr(run_of(config), "tasks", {}).values():
        if all(channel == _RESUME for channel, _ in task.writes):
            given = task.input
            if isinstance(given, dict):  # beside the state, as releases of LangChain have sent it
                given = [given.get("tool_call")]
            ids |= {str(call["id"]) for call in given if isinstance(call, dict)}
    return ids


def written_before(config: RunnableConfig, channel: str) -> list[Any]:
    """Return what the tasks of a super-step have written into a channel that is not in the state.

    Why: what a task of a lost process wrote counts once the super-step ends, and no public value of
    a node shows it before. Without it a call is made although its stored answer says that it was
    not.

    Args:
        config: Of a node.
        channel: Such as ``messages``.
    """
    written = getattr(run_of(config), "checkpoint_pending_writes", ())
    return [value for _, name, value in written if name == channel]


def streams(config: RunnableConfig, mode: str) -> bool:
    """Return True if the caller of a run, or of a graph around it, asked for a stream mode.

    Why: the public writer of ``custom`` events is there in any case, and drops what was not asked
    for. Without the modes every event for user interfaces is made, and most of them for no reader.

    Args:
        config: Of its node.
        mode: Such as ``custom``.
    """
    run = run_of(config)
    return run is None or run.stream is None or mode in run.stream.modes


def streams_outside(run: Run) -> bool:
    """Return True if a run streams into a graph around it, or tells a server of each node.

    Why: no public value of a node says so. Without the keys such a graph or server is shown the
    nodes of a run too late, or a result that is not recorded yet.
    """
    configurable = run.config["configurable"]
    return _STREAM in configurable or _NODE_FINISHED in configurable


def passes_unseen(run: Run) -> bool:
    """Return True if a run stores nothing, stops nowhere, and streams into no graph around it.

    Why: no public value of a node says so. Without one of the attributes an ``AttributeError`` ends
    the first run.
    """
    return (
        run.checkpointer is None
        and not run.interrupt_before
        and not run.interrupt_after
        and not streams_outside(run)
    )


def asked_to_drain(config: RunnableConfig) -> bool:
    """Return True if a run was asked to end before its next super-step.

    Why: the public ``get_runtime`` looks the same value up through a context variable, which costs
    more. Without the key a run that was asked to drain goes on.

    Args:
        config: Of its node.
    """
    control = getattr(config["configurable"].get(_RUNTIME), "control", None)
    return control is not None and control.drain_requested


def place_of(node: str, step: int) -> dict[str, Any]:
    """Return the place of a node's execution, as LangGraph writes it into the metadata.

    Why: a node that is run within the super-step of another one has no task of its own. With other
    keys or values the code in such a node finds the place of the first node.

    Args:
        node: Name of the node.
        step: Number of its super-step.
    """
    return {
        "langgraph_node": node,
        "langgraph_step": step,
        "langgraph_triggers": (f"branch:to:{node}",),
        "langgraph_path": ("__pregel_pull", node),
    }


def input_of(config: RunnableConfig) -> Any:
    """Return the input of a run as the caller wrote it; ``None`` if it is not known.

    Why: channels hold what LangGraph has made of it, without tool messages of unknown calls.

    Args:
        config: Of its node.
    """
    return getattr(run_of(config), "input", None)


def outermost_input_of(config: RunnableConfig) -> Any:
    """Return the input of the run around all others, as for :func:`input_of`.

    Why: an agent in a node of another graph is answered by that graph's caller. Without the input
    an answer to one question of the agent is taken for one to a later one.

    Args:
        config: Of a node.
    """
    return getattr(_outermost(config), "input", None)


def answer_beside_update(config: RunnableConfig) -> tuple[Any, RunnableConfig, list[Any]] | None:
    """Return what stores the answer that a run was resumed with, if updates came to the thread.

    Why: savers on SQL keep the older one of two answers to a super-step if the newer one is stored
    with an update, and LangGraph stores it with all that came since the super-step began. Without
    the function an answer that a dead process has left counts instead of the one that replaced it,
    or is given to a later question.

    Args:
        config: Of a node.

    Returns:
        The checkpointer, the place of the writes, and the arguments that follow it; ``None`` if
        there is no such answer, or the run stores nothing before its end.
    """
    run = _outermost(config)
    given = getattr(run, "input", None)
    if run is None or not isinstance(given, Command):
        return None
    if run.checkpointer is None or run.durability == "exit":
        return None
    written = run.checkpoint_pending_writes
    if all(task != _NULL_TASK or channel == _RESUME for task, channel, _ in written):
        return None
    place = {**run.checkpoint_config["configurable"], "checkpoint_id": newest_of(run)}
    place.setdefault("checkpoint_ns", "")
    return run.checkpointer, {"configurable": place}, [[(_RESUME, given.resume)], _NULL_TASK]


def _outermost(config: RunnableConfig) -> "Run | None":
    run = run_of(config)
    while run is not None and (around := run_of(run.config)) not in (None, run):
        run = around
    return run


def nodes_of(config: RunnableConfig) -> list[str]:
    """Return the names of the nodes of the graph that a node belongs to, in the order of the graph.

    Why: ``create_agent`` shows a middleware nothing of the others, and their order decides what the
    guard protects. Without the names a wrong order is not reported.

    Args:
        config: Of a node.
    """
    return list(getattr(run_of(config), "nodes", ()))


def tools_of(config: RunnableConfig) -> list[BaseTool]:
    """Return the tools of the graph that a node belongs to.

    Why: ``create_agent`` shows a middleware only the tools that others have left in a request.
    Without the tools a declaration of one that was left out is refused.

    Args:
        config: Of a node.
    """
    nodes = getattr(run_of(config), "nodes", {}).values()
    bound = [node for each in nodes if isinstance(node := getattr(each, "bound", 0), ToolNode)]
    return [tool for node in bound for tool in node.tools_by_name.values()]


def base_of(run: Run) -> str:
    """Return the checkpoint that a run has read, empty if the thread had none.

    Why: ``checkpoint_id`` of the configuration is the newest one that the run has put. Without it
    claims fail with an ``AttributeError``, before anything is issued.
    """
    began = run._initial_checkpoint_config["configurable"].get("checkpoint_id")  # noqa: SLF001
    return str(began or "")


def follow_clock(run: Run) -> None:
    """Have the ids of checkpoints rise from the one that a run has read.

    Why: ids begin with the time, savers find the newest checkpoint by them, and the machine that
    put this one may have a clock that is ahead. Without the variable the steps of the run sort
    before it, and count for nothing until a later run appends them again.

    The variable is that of all threads of the process, so a time that no clock shows by mistake, as
    in a forged checkpoint, is not followed.
    """
    base = base_of(run)
    with contextlib.suppress(ValueError):  # a first run has read none
        number = UUID(base).int
        read = number >> 80 << 12 | number >> 64 & 0xFFF
        newest = getattr(ids, _NEWEST_TIME, None) or 0
        if newest < read < _ticks(time.time() + _FARTHEST_AHEAD):
            setattr(ids, _NEWEST_TIME, read)


def _ticks(seconds: float) -> int:
    """Return a time as UUIDs count it: in units of 100 ns, since October 1582."""
    return int(seconds * 1e7) + 0x01B21DD213814000


def newest_of(run: Run) -> str:
    """Return the newest checkpoint that a run has made."""
    return str(run.checkpoint["id"])


def storing(run: Run) -> Any:
    """Return the future of the newest checkpoint that a run has put, ``None`` without one.

    Why: with durability ``async`` nothing else tells when a checkpoint is stored, or that it could
    not be. Without it the saver is asked again and again, and the error is reported as a time-out.
    """
    return getattr(run, "_put_checkpoint_fut", None)


def storing_of(config: RunnableConfig, namespace: str, checkpoint: str) -> Any:
    """Return the future of storing a checkpoint that a node stands on.

    Args:
        config: Of the node.
        namespace: Of the checkpoint; see :data:`CHECKPOINTS`.
        checkpoint: Its id.

    Returns:
        A future of a thread pool or of any event loop; ``None`` if no run around the node has put
        that checkpoint, as after a resume.
    """
    run = run_of(config)
    while run is not None:
        if namespace_of_run(run) == namespace and newest_of(run) == checkpoint:
            return storing(run)
        run = run_of(run.config)  # of the graph around it
    return None


def storing_error(config: RunnableConfig) -> BaseException | None:
    """Return the error that kept a node's checkpoint, or one of a graph around it, from the store.

    A checkpoint waits for the writes that led to it, and fails with them.

    Args:
        config: Of the node.
    """
    run = run_of(config)
    while run is not None:
        stored = storing(run)
        ended = stored is not None and stored.done() and not stored.cancelled()
        if ended and (error := stored.exception()):
            return error  # type: ignore[no-any-return]
        run = run_of(run.config)  # of the graph around it
    return None


def goes_back(run: Run) -> bool:
    """Return True if a run was given a checkpoint to begin at, and continues no other run.

    A run inside another graph is given one by the run around it; see :data:`REPLAYED`.
    """
    configurable = run.config["configurable"]
    return bool(configurable.get("checkpoint_id") or configurable.get(REPLAYED))


def namespace_of_run(run: Run) -> str:
    """Return the namespace of a run's checkpoints, task ids included."""
    return "|".join(run.checkpoint_ns)


def when_over(run: Run, act: Callable[..., object], *arguments: Any) -> None:
    """Call a function when a run ends in any way: result, interrupt, error, cancellation, close.

    Why: there is no event for it, and a node does not see the end. Without the stack a claim would
    outlive its run; an ``AttributeError`` comes first.
    """
    run.stack.callback(act, *arguments)  # type: ignore[attr-defined]


def before_over(run: Run, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Have the end of a run, in any way, wait for a coroutine on the loop of its node.

    Why: see :func:`when_over`. What was passed here or there first comes last.
    """
    stack = run.stack  # type: ignore[attr-defined]
    if isinstance(stack, AsyncExitStack):
        stack.push_async_callback(act)
    else:
        stack.callback(_wait_from_thread, asyncio.get_running_loop(), act)


def _wait_from_thread(
    loop: asyncio.AbstractEventLoop, act: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    # Garbage collection may close a stream anywhere: on that very loop, or when it has ended.
    if running_loop() is not loop and loop.is_running():
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(act(), loop).result(_PATIENCE)


_UNWINDING: set[asyncio.Task[Any]] = set()
"""Ends of runs that are under way; the event loop alone would not keep them."""


def end_whole(run: Run, act: Callable[..., object], *arguments: Any) -> None:
    """Have a run come to its end even if it is cancelled again and again, as anyio does.

    Why: LangGraph ends a run in a task of its own and waits for it, and a cancellation of the wait
    cancels that task, perhaps before its first step. Without the function a client that goes away
    leaves the nodes running, and the thread claimed, for as long as the process lives.

    Args:
        run: LangGraph's run.
        act: Called once no node of the run is running and all that it has put is stored, which is
            later than :func:`when_over`.
        arguments: Of that function.
    """
    stack = run.stack  # type: ignore[attr-defined]
    unwind: Any = stack.__aexit__ if isinstance(stack, AsyncExitStack) else stack.__exit__
    whole = False

    def leave(*error: Any) -> bool | None:
        nonlocal whole
        whole = True
        try:
            return unwind(*error)  # type: ignore[no-any-return]
        finally:
            act(*arguments)

    async def leave_on_loop(*error: Any) -> bool | None:
        try:
            return await unwind(*error)  # type: ignore[no-any-return]
        finally:
            act(*arguments)

    def leave_whole(*error: Any) -> Coroutine[Any, Any, bool | None]:
        nonlocal whole
        whole = True
        ends = asyncio.create_task(leave_on_loop(*error))
        _UNWINDING.add(ends)
        ends.add_done_callback(_unwound)
        return _shielded(ends)

    def leave_unasked() -> None:
        # A run that is cancelled while its first node is about to begin unwinds as it would have
        # without that node.
        if whole:
            return
        task = asyncio.current_task() if isinstance(stack, AsyncExitStack) else None
        if task is None:
            act(*arguments)
        else:
            task.add_done_callback(lambda _: act(*arguments))

    stack.callback(leave_unasked)
    if isinstance(stack, AsyncExitStack):
        stack.__aexit__ = leave_whole  # type: ignore[method-assign]
    else:
        stack.__exit__ = leave


async def end_abandoned(run: Run, living: Run) -> bool:
    """End a run that LangGraph has left without unwinding it; call it in a task of its own.

    Why: the task in which LangGraph unwinds a run may be cancelled before its first step, as anyio
    cancels at every step. The first node then begins, claims the thread, and nothing follows.

    Args:
        run: The run in question, on this event loop.
        living: The run that asks. LangGraph's generator refers to it; if that cannot be seen,
            nothing is known of the other run either. It can be seen while the generator waits, so
            from another task.

    Returns:
        True if the run is ending now.
    """
    if not isinstance(run.stack, AsyncExitStack):  # type: ignore[attr-defined]
        return False
    if _is_driven(run) or not _is_driven(living):
        return False
    ends = asyncio.ensure_future(run.stack.__aexit__(None, None, None))  # type: ignore[attr-defined]
    _UNWINDING.add(ends)
    ends.add_done_callback(_unwound)
    return True


def _is_driven(run: Run) -> bool:
    return any(isinstance(each, AsyncGeneratorType) for each in gc.get_referrers(run))


def _unwound(ends: asyncio.Task[Any]) -> None:
    _UNWINDING.discard(ends)
    if not ends.cancelled():
        ends.exception()  # the run raises it, if anything still waits for that


async def _shielded(ends: asyncio.Task[bool | None]) -> bool | None:
    return await asyncio.shield(ends)


def when_over_with(run: Run, act: Callable[[BaseException | None], object]) -> None:
    """Call a function with the exception that ended a run, ``None`` for any other end.

    Why: see :func:`when_over`.
    """

    def ended(_: object, error: BaseException | None, __: object) -> None:
        act(error)

    run.stack.push(ended)  # type: ignore[attr-defined]


def store_nothing(config: RunnableConfig) -> None:
    """Prevent that a refused run stores its state at its end.

    Why: LangGraph stores at the end of any run whose durability is "exit", refused or not.

    Args:
        config: Of its node.
    """
    run = run_of(config)
    if run is not None and run.durability == "exit":
        run.durability = "async"


# -- frames --------------------------------------------------

INJECTION = ToolNode._inject_tool_args.__code__  # noqa: SLF001 - see below
"""Code object of the method that injects values from the graph into the arguments of a tool.

Why: only its frame in a traceback shows that the injection has failed, so that the tool was not
called. Without the method the module cannot be imported, which the first test of a new LangGraph
shows.
"""
