"""Form of the lines of a file of played missions, checked before anything of them is used."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from asyncguard_benchmark.errors import DataError

_LONGEST = 60
"""Characters of an id that a message shows."""
_Count = Annotated[int, Field(ge=0)]


class _Form(BaseModel):
    """Base: nothing is converted, and fields that are not named are let be."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Call(_Form):
    name: str
    arguments: Any


class _Step(_Form):
    calls: list[_Call]
    text: str


class _Record(_Form):
    number: int
    tool: str
    arguments: dict[str, Any]
    pending_before: list[int]


class _JointRecord(_Record):
    pending_of_all: list[int]


class _Intervention(_Form):
    guard: str
    verdict: str


class _Notes(_Form):
    interventions: list[_Intervention] = []
    involved: list[str] = []
    refused: _Count = 0
    reminded: _Count = 0
    refusals_wanted: _Count = 0
    reminders_wanted: _Count = 0


class _Usage(_Form):
    calls: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    reasoning_tokens: float
    dollars: float | None = None


class _Condition(_Form):
    """Parts that the names of both kinds of runs share."""

    model_config = ConfigDict(strict=True, extra="forbid")
    dialogue: str
    agent: str
    player: str
    arm: str
    regime: str
    observations: str
    seed: int


class RunName(_Condition):
    """Name of the run of a mission."""

    mission: _Count
    history: str
    play_on: bool


class JointName(_Condition):
    """Name of the run of overlapping missions."""

    overlap: _Count


class _Outcome(_Form):
    """Fields that rows of both kinds hold."""

    settings: str
    truncated: bool
    messages_made: _Count
    waiting_messages: _Count
    ticks: _Count
    final_state_is_gold: bool | None
    notes: _Notes


class RowForm(_Outcome):
    """Row of a mission."""

    steps: list[_Step]
    calls: list[_Record]
    prompt_messages: _Count
    without_step: _Count
    pending_at_end: _Count
    usage: _Usage = Field(default=None)  # type: ignore[assignment]


class _Parts(_Form):
    parts: dict[Annotated[str, Field(pattern=r"^\d{1,4}$")], _Step]


class JointRowForm(_Outcome):
    """Row of overlapping missions."""

    steps: list[_Parts]
    calls: list[_JointRecord]
    pending_at_end: list[_Count | None]


class _Beside(_Form):
    aliases: list[list[str]]
    uses: list[int]


class _Message(_Form):
    content: str


class _Across(_Form):
    mission: _Count
    node: _Count
    needs: list[Annotated[list[_Count], Field(min_length=2, max_length=2)]]
    uses: list[Annotated[list[_Count], Field(min_length=2, max_length=2)]]


class DialogueForm(_Form):
    """Dialogue; what the official form has is checked by its own reader."""

    tools: Any
    type: Any
    turn_type: Any
    turn_subtypes: Any
    answer_list: list[Any]
    messages: list[str | _Message]
    beside: list[list[_Beside]]
    task_ids: list[_Count] = []
    across: list[_Across] | None = None


_F = TypeVar("_F", bound=BaseModel)


def checked(form: type[_F], value: Any, where: str) -> _F:
    """Return a value in its form.

    Args:
        form: What it is to be.
        value: A JSON value.
        where: File and line, for the message.

    Raises:
        DataError: it has another form; the message names file, line, id and field.
    """
    try:
        return form.model_validate(value)
    except ValidationError as problem:
        first = problem.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(each)[:_LONGEST] for each in first["loc"])
        raise DataError(f"{where}{_id(value)}: {field or 'line'}", first["msg"]) from problem


def _id(value: Any) -> str:
    """Return the id of a row or dialogue in brackets, as far as it has one."""
    said = value.get("run", value) if isinstance(value, Mapping) else None
    name = said.get("dialogue", said.get("id")) if isinstance(said, Mapping) else None
    return f" ({name[:_LONGEST]})" if isinstance(name, str) else ""
