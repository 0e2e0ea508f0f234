"""Prompts that an agent gets before its first turn. The hidden state is not part of them."""

import json

from asyncguard_benchmark.harness.protocol.actions import ALL_COMPLETED
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.services.catalogue import composition_tools

_ROLE = (
    "You are an expert who works on several independent tasks in one conversation. Each task has an id and a question, "
    "and is solved by a sequence of function calls."
)
_RULES = (
    "Call one function per round; a response with more than one call is refused.",
    "A function may need some rounds to finish. While a call of one task is not complete, you may go on with another "
    "task.",
    "Results arrive in later messages and name the task and the call that they belong to.",
    "Work nothing out yourself: what a function can do is a call of that function, also when its outcome is plain to "
    "see.",
)
_TEXT_FORMAT = (
    'Answer with nothing but one JSON object: {"id": "<task id>", "func_name": "<function>", "params": {"<name>": '
    "<value>}}.",
    f'When every task is done, answer {{"content": "{ALL_COMPLETED}"}}.',
)
_NATIVE_FORMAT = (
    "Say with the argument task_id which task a call belongs to.",
    f"When every task is done, answer {ALL_COMPLETED} without a call.",
)


def text_system_prompt(composition: Composition, example: str | None = None) -> str:
    """Return the contract of the text surface with the API list.

    Args:
        composition: Composition whose tools are listed.
        example: One successful trajectory as text, for the few-shot arm.
    """
    tools = [tool.function_schema() for tool in composition_tools(composition).values()]
    return (
        _prompt(_TEXT_FORMAT, example) + "\n\nFunctions:\n" + json.dumps(tools, ensure_ascii=False)
    )


def native_system_prompt(example: str | None = None) -> str:
    """Return the contract of the native surface; the provider shows the tools."""
    return _prompt(_NATIVE_FORMAT, example)


def _prompt(ending: tuple[str, ...], example: str | None) -> str:
    rules = "\n".join(f"- {rule}" for rule in (*_RULES, *ending))
    return f"{_ROLE}\n\n{rules}" + (f"\n\nAn example:\n{example}" if example else "")


def first_user_message(composition: Composition) -> str:
    """Return the tasks, one block a line."""
    return "\n".join(
        f"{{id:'{task.id}', question:'{task.query}'}}" for task in composition.sub_tasks
    )
