import json
from typing import Any

import pytest

from asyncguard_benchmark.services.messaging import TOOLSET
from asyncguard_benchmark.services.service import Executor
from tests.benchmark.builders import SUB_TASKS

HARBOUR = "harbour@velden-port.example"
PILOT = "lotte.brandis@pilots.example"


def service(task_id: str) -> Executor:
    """All tools, on the state of a shipped task."""
    return Executor(TOOLSET.tools, SUB_TASKS[task_id].initial_state)


@pytest.fixture
def mail() -> Executor:
    """The harbour office of ma-01, signed in to."""
    return service("ma-01")


def ask(mail: Executor, name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(mail.call(name, values))


def ids(listed: Any) -> list[str]:
    """The ids of listed messages in order."""
    return [row["message_id"] for row in listed["messages"]]


def test_nothing_works_before_a_mailbox_is_signed_in_to() -> None:
    """A wrong PIN, or the PIN of another mailbox, does not sign in."""
    mail = service("ma-02")
    address = "s.okafor@stluke.example"
    refused: dict[str, dict[str, Any]] = {
        "list_folder": {},
        "find_person": {"name": "Sade Okafor"},
        "list_group": {"group": "Ward 7 nights"},
        "send_message": {"to": [address], "subject": "x", "text": "x"},
    }
    for name, values in refused.items():
        assert "signed in" in ask(mail, name, **values)["error"]
    assert "PIN" in ask(mail, "open_mailbox", address=address, pin="7320")["error"]
    assert "signed in" in ask(mail, "list_folder")["error"]
    assert ask(mail, "open_mailbox", address=address, pin="7302") == {
        "owner": "Sade Okafor",
        "address": address,
        "unread": 1,  # the unread one in the archive does not count
    }
    assert ids(ask(mail, "list_folder")) == ["M-31870", "M-31755", "M-31742"]


def test_each_mailbox_has_its_own_messages() -> None:
    """Messages of one mailbox cannot be reached from another; mail is sent as the current one."""
    mail = service("ma-13")
    crew, mara = "crew@upstream-rowing.example", "mara.lind@fjordnet.example"
    ask(mail, "open_mailbox", address=crew, pin="5518")
    assert ids(ask(mail, "list_folder", folder="archive")) == ["M-91090", "M-91055", "M-91010"]
    ask(mail, "open_mailbox", address=mara, pin="0462")
    assert ids(ask(mail, "list_folder", folder="archive")) == ["M-91500"]
    for name in ("read_message", "put_label", "move_message", "answer_message"):
        more: dict[str, Any] = {
            "put_label": {"label": "x"},
            "move_message": {"folder": "bin"},
            "answer_message": {"text": "x"},
        }.get(name, {})
        assert "no message" in ask(mail, name, message_id="M-91010", **more)["error"]
    assert ask(mail, "send_message", to=[crew], subject="a", text="b")["sender"] == mara


def test_people_are_found_by_full_name_only(mail: Executor) -> None:
    """All people of the name are found, and none with a similar one."""
    found = ask(mail, "find_person", name="lotte brandis")["people"]
    assert [(person["team"], person["address"]) for person in found] == [
        ("Canteen", "l.brandis@velden-port.example"),
        ("Pilot station", PILOT),
    ]
    assert "nobody" in ask(mail, "find_person", name="Brandis")["error"]
    assert "no group" in ask(mail, "list_group", group="Pilots")["error"]


def test_messages_are_listed_newest_first_in_all_folders(mail: Executor) -> None:
    """By sender the folder does not matter; reading leaves a message unread."""
    assert ids(ask(mail, "list_by_sender", address=PILOT)) == ["M-20418", "M-20377"]
    assert ids(ask(mail, "list_folder")) == ["M-20431", "M-20402", "M-20377"]
    assert ask(mail, "read_message", message_id="M-20377")["unread"] is True
    assert ask(mail, "list_by_sender", address="nobody@x.example") == {"messages": []}


def test_an_answer_goes_to_the_sender_or_to_everyone_but_oneself() -> None:
    """To everyone means sender, recipients and copies, each once; an answer to own mail goes to its recipients."""
    mail = service("ma-11")
    reply = ask(mail, "answer_message", message_id="M-27001", text="x")
    assert (reply["to"], reply["subject"], reply["thread_id"]) == (
        ["h.lund@stillwater.example"],
        "Re: Bridge closed?",
        "T-27001",
    )
    wide = ask(mail, "answer_message", message_id="M-27001", text="x", audience="everyone")
    assert wide["to"] == [
        "h.lund@stillwater.example",
        "petra.voss@stillwater.example",
        "ferry@stillwater.example",
    ]
    again = ask(mail, "answer_message", message_id=reply["message_id"], text="y")
    assert (again["to"], again["subject"]) == (["h.lund@stillwater.example"], "Re: Bridge closed?")


def test_a_thread_tells_the_others_and_its_messages_oldest_first() -> None:
    """The owner of the mailbox is not among the participants, copies are."""
    thread = ask(service("ma-11"), "read_thread", thread_id="T-27001")
    assert thread["participants"] == [
        "h.lund@stillwater.example",
        "petra.voss@stillwater.example",
        "ferry@stillwater.example",
    ]
    assert ids(thread) == ["M-27001", "M-27044", "M-27093"]
    assert "no thread" in ask(service("ma-11"), "read_thread", thread_id="T-1")["error"]


def test_what_is_passed_on_keeps_text_and_attachments() -> None:
    """A remark stands above the text; the copy is in a thread of its own."""
    mail = service("ma-12")
    sent = ask(mail, "forward_message", message_id="M-33512", to=["a@b.example"], note="See below.")
    assert (sent["subject"], sent["attachments"]) == ("Fwd: Hail", ["row3.jpg", "row9.jpg"])
    assert sent["thread_id"] != "T-33512"
    copy = ask(mail, "read_message", message_id=sent["message_id"])
    assert copy["text"] == "See below.\n> Rows 3 to 9 are gone."
    plain = ask(mail, "forward_message", message_id="M-33512", to=["a@b.example"])
    assert (
        ask(mail, "read_message", message_id=plain["message_id"])["text"]
        == "> Rows 3 to 9 are gone."
    )


def test_a_draft_leaves_once_now_or_later() -> None:
    """A draft keeps id and thread; a message that was sent or waits cannot be released again."""
    mail = service("ma-21")
    ask(mail, "open_mailbox", address="h.quist@observatory.example", pin="9917")
    for when, part in (
        ("2026-08-07 23:50", "future"),
        ("2026-02-30 10:00", "no date"),
        ("tomorrow", "Invalid"),
    ):
        assert part in ask(mail, "release_draft", message_id="M-47011", send_at=when)["error"]
    waiting = ask(mail, "release_draft", message_id="M-47011", send_at="2026-08-10 20:00")
    assert (waiting["folder"], waiting["date"]) == ("outbox", "2026-08-10 20:00")
    assert ids(ask(mail, "list_folder", folder="outbox")) == ["M-47003", "M-47011"]
    assert "outbox" in ask(mail, "release_draft", message_id="M-47011")["error"]
    assert "not been sent" in ask(mail, "answer_message", message_id="M-47011", text="x")["error"]
    gone = ask(mail, "release_draft", message_id="M-47012")
    assert (gone["folder"], gone["date"], gone["thread_id"]) == (
        "sent",
        "2026-08-07 23:50",
        "T-47012",
    )


def test_labels_are_kept_once_and_moves_tell_where_from(mail: Executor) -> None:
    """A second label joins the first; a message cannot be put where it is."""
    ask(mail, "put_label", message_id="M-20377", label="draught")
    assert ask(mail, "put_label", message_id="M-20377", label="draught")["labels"] == ["draught"]
    assert ask(mail, "put_label", message_id="M-20377", label="ship")["labels"] == [
        "draught",
        "ship",
    ]
    assert ask(mail, "move_message", message_id="M-20377", folder="bin")["came_from"] == "inbox"
    assert "already" in ask(mail, "move_message", message_id="M-20377", folder="bin")["error"]


def test_an_extra_message_does_not_shift_the_ids_of_another() -> None:
    """Ids of messages and threads come from what is written; equal messages have different ones."""
    words: dict[str, Any] = {"to": [PILOT], "subject": "Berth", "text": "Free."}
    plain, extra = service("ma-01"), service("ma-01")
    ask(extra, "send_message", **{**words, "text": "Taken."})
    ask(extra, "write_draft", **words)
    first, other = (ask(each, "send_message", **words) for each in (plain, extra))
    assert first == other
    second = ask(plain, "send_message", **words)
    assert second["message_id"] != first["message_id"]
    assert second["thread_id"] != first["thread_id"]


@pytest.mark.parametrize("to", [[], [PILOT, PILOT], ["Lotte"], PILOT])
def test_recipients_are_a_list_of_different_addresses(mail: Executor, to: Any) -> None:
    """A single text, a name or a repeated address is refused before anything is sent."""
    assert "Invalid arguments" in ask(mail, "send_message", to=to, subject="a", text="b")["error"]
    assert ask(mail, "list_folder", folder="sent") == {"messages": []}
