"""Prompts that an agent gets before its first turn. The hidden state is not part of them."""

import json

from asyncguard_benchmark.harness.protocol.actions import ALL_COMPLETED
from asyncguard_benchmark.harness.protocol.response_schemas import response_schemas
from asyncguard_benchmark.harness.scenario import Composition, Contract
from asyncguard_benchmark.services.catalogue import composition_tools

_ROLE = (
    "You are an expert who works on several independent tasks in one conversation. Each task has an id and a question, "
    "and is solved by a sequence of function calls."
)
_RULES = (
    "Call one function per round; a response with more than one call is refused.",
    "A function may need some rounds to finish. While a call of one task is not complete, you may go on with another "
    "task.",
)
_OUR_RULES = (
    "Results arrive in later messages and name the task and the call that they belong to.",
    "Work nothing out yourself: what a function can do is a call of that function, also when its outcome is plain to "
    "see.",
)
_TEXT_FORMAT = (
    'Answer with nothing but one JSON object: {"id": "<task id>", "func_name": "<function>", "params": {"<name>": '
    "<value>}}.",
    f'When every task is done, answer {{"content": "{ALL_COMPLETED}"}}.',
)
_STRICT = "You must keep to this format: a response in any other is not carried out."
_NATIVE_FORMAT = (
    "Say with the argument task_id which task a call belongs to.",
    f"When every task is done, answer {ALL_COMPLETED} without a call.",
)


def text_system_prompt(
    composition: Composition, example: str | None = None, contract: Contract = Contract.OURS
) -> str:
    """Return the contract of the text surface with the API list.

    Args:
        composition: Composition whose tools are listed.
        example: One successful trajectory as text, for the few-shot arm.
        contract: Ours has rules of its own, the paper's has the schemas of responses.
    """
    tools = [tool.function_schema() for tool in composition_tools(composition).values()]
    if contract is Contract.PAPER:
        prompt = _prompt((*_RULES, *_TEXT_FORMAT, _STRICT), example)
        responses = {
            name: schema
            for task in composition.sub_tasks
            for name, schema in response_schemas(task.category).items()
        }
        tools = [
            {**each, "response": responses[each["name"]]} if each["name"] in responses else each
            for each in tools
        ]
    else:
        prompt = _prompt((*_RULES, *_OUR_RULES, *_TEXT_FORMAT), example)
    return prompt + "\n\nFunctions:\n" + json.dumps(tools, ensure_ascii=False)


def native_system_prompt(example: str | None = None) -> str:
    """Return the contract of the native surface; the provider shows the tools."""
    return _prompt((*_RULES, *_OUR_RULES, *_NATIVE_FORMAT), example)


def _prompt(rules: tuple[str, ...], example: str | None) -> str:
    listed = "\n".join(f"- {rule}" for rule in rules)
    return f"{_ROLE}\n\n{listed}" + (f"\n\nAn example:\n{example}" if example else "")


def first_user_message(composition: Composition) -> str:
    """Return the tasks, one block a line."""
    return "\n".join(
        f"{{id:'{task.id}', question:'{task.query}'}}" for task in composition.sub_tasks
    )
