import io
import json
from pathlib import Path

import pytest

from asyncguard.core import events as ev
from asyncguard.observability.fields.record import fields
from asyncguard.observability.log import console_logger, log_events
from asyncguard.observability.observer import ObserverSet
from asyncguard.observability.timeline.draw import render_timeline
from asyncguard.observability.trace import read_trace
from asyncguard.observability.trace_file import TraceFile
from tests.observability.story import Story

SECRETS = [f"canary-{number:02d}-{number * 7919 % 9973:04d}" for number in range(50)]

# Those that `tell_secrets` gives where the class of an error belongs: never shown, as they are none.
AS_ERROR_CLASS = {SECRETS[position] for position in (9, 34, 23, 48)}


def tell_secrets(story: Story) -> None:
    """Puts every secret where users, models and tools write: five places a call, for ten calls."""
    secrets = iter(SECRETS)
    story.begin()
    for number in range(10):
        task = f"task{number}"
        story.tell(ev.TaskOpened, task=task, goal=f"find {next(secrets)}")
        arguments = {"who": next(secrets), "deep": [{"x": next(secrets)}]}
        (key,) = story.turn((task, "ask", arguments))
        reason = f"'{next(secrets)}' is found nowhere"
        content = next(secrets)
        match number % 5:
            case 0:
                story.tell(ev.CallRejected, key=key, guard="grounding", reason=reason)
                story.tell(
                    ev.CompletionJudged,
                    verdict=ev.CompletionVerdict.NUDGE,
                    reason=content,
                    tasks=(task,),
                )
            case 1:
                story.start_calls(key)
                story.tell(
                    ev.CallRecovered,
                    key=key,
                    action=ev.RecoveryAction.RETRY,
                    attempt=1,
                    error=content,
                    reason=reason,
                )
                story.tell(ev.CallCancelled, key=key, reason=reason)
            case 2:
                story.tell(ev.CallDeferred, key=key, guard="dependency", reason=reason, on=())
                story.tell(ev.CallSquashed, key=key, reason=content)
            case 3:
                story.tell(ev.CallHeld, key=key, guard="trust", reason=reason)
                story.tell(ev.CallAdmitted, key=key, released=True, arguments={"who": content})
            case _:
                story.start_calls(key)
                story.tell(
                    ev.CallRetired,
                    key=key,
                    outcome=ev.Outcome.FAILED,
                    content=[{"t": content}],
                    size=9,
                    error=reason,
                )
    assert next(secrets, None) is None


def leaked(text: str) -> list[str]:
    """The secrets that a text holds."""
    return [secret for secret in SECRETS if secret in text]


def test_no_secret_is_in_any_record() -> None:
    """Goals, arguments, results, reasons and error texts stay out of the fields."""
    story = Story()
    tell_secrets(story)
    assert leaked(json.dumps([fields(details) for details in story.told])) == []


def test_with_payloads_every_secret_is_there() -> None:
    """The test above could fail: the full records hold all canaries but those given as the class of an error."""
    story = Story()
    tell_secrets(story)
    full = json.dumps([fields(details, payloads=True) for details in story.told])
    assert set(SECRETS) - set(leaked(full)) == AS_ERROR_CLASS


def test_no_secret_reaches_files_consoles_or_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trace file, structured log and timeline are made of the same records."""
    out = io.StringIO()
    with TraceFile(tmp_path / "t.jsonl") as file:
        story = Story(file, log_events(console_logger(out)))
        tell_secrets(story)
        assert len(story.observers) == 2
    assert leaked((tmp_path / "t.jsonl").read_text()) == []
    assert leaked(out.getvalue()) == []
    assert leaked(render_timeline(read_trace(tmp_path / "t.jsonl"))) == []
    captured = capsys.readouterr()
    assert leaked(captured.out + captured.err) == []


def test_payloads_can_be_asked_for(tmp_path: Path) -> None:
    """Files and logs hold them if the caller says so."""
    out = io.StringIO()
    with TraceFile(tmp_path / "t.jsonl", payloads=True) as file:
        story = Story()
        story.observers = ObserverSet([file, log_events(console_logger(out), payloads=True)])
        tell_secrets(story)
    assert len(leaked((tmp_path / "t.jsonl").read_text())) == 46
    assert len(leaked(out.getvalue())) == 46
    assert len(read_trace(tmp_path / "t.jsonl").rows) == len(story.told)


def test_a_task_that_is_none_is_no_identifier() -> None:
    """A model may write anything as a task; only existing tasks are logged by name."""
    story = Story()
    story.begin()
    story.tell(ev.TaskOpened, task="trip", goal="Book.")
    (key,) = story.turn((SECRETS[0], "ask", {}))
    story.tell(ev.CallRejected, key=key, guard="arguments", reason="no such task", on=())
    assert leaked(json.dumps([fields(details, payloads=True) for details in story.told])) == []
