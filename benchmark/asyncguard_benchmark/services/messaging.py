"""MA: a mail service with mailboxes, folders, threads, drafts, labels and a directory of people and groups.

Nothing works before a mailbox is signed in to, and everything then concerns that mailbox. Mail that goes out leaves one
copy, the sender's: no reply ever comes by itself, and time stands still, so a run depends on nothing but its calls.
Dates are texts ``YYYY-MM-DD HH:MM``, which sort as they should.
"""

from datetime import datetime
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import State, Tool, choice, text
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, setter, writer
from asyncguard_benchmark.services.state_shapes import FLAG, WORD, optional, record, rows, table

_SESSION = "mail:{task_id}:session"
_MAIL = "mail:{task_id}:messages"
_DIRECTORY = "mail:{task_id}:directory"

_FOLDERS = ("inbox", "drafts", "outbox", "sent", "archive", "spam", "bin")
_DATE_FORMAT = "%Y-%m-%d %H:%M"
_DATE_PATTERN = r"\d{4}-\d\d-\d\d \d\d:\d\d"

_DATE = {"type": "string", "pattern": f"^{_DATE_PATTERN}$"}
_WORDS = rows(WORD)

STATE_SCHEMA = record(
    now=_DATE,
    session=optional(WORD),
    mailboxes=table(record(owner=WORD, pin=WORD)),
    people=rows(record(name=WORD, address=WORD, team=WORD, room=WORD)),
    groups=table(record(owner=WORD, members=_WORDS)),
    messages=table(
        record(
            mailbox=WORD,
            folder={"enum": list(_FOLDERS)},
            thread_id=WORD,
            date=_DATE,
            sender=WORD,
            to=_WORDS,
            cc=_WORDS,
            subject=WORD,
            text=WORD,
            labels=_WORDS,
            attachments=_WORDS,
            unread=FLAG,
        )
    ),
)


def _me(state: State) -> str:
    """Return the address of the mailbox that is signed in to."""
    if state["session"] is None:
        raise ToolFailure("No mailbox is signed in to.")
    address: str = state["session"]
    return address


def _mine(state: State) -> dict[str, dict[str, Any]]:
    """Return the messages of the mailbox, oldest first."""
    me = _me(state)
    mine = [
        (key, message) for key, message in state["messages"].items() if message["mailbox"] == me
    ]
    return dict(sorted(mine, key=lambda item: (item[1]["date"], item[0])))


def _message(state: State, message_id: str) -> dict[str, Any]:
    found = _mine(state).get(message_id)
    if found is None:
        raise ToolFailure(f"This mailbox has no message {message_id!r}.")
    return found


def _rows(messages: dict[str, dict[str, Any]]) -> Any:
    """Return one line a message, newest first."""
    shown = ("folder", "date", "sender", "to", "subject", "labels", "unread")
    return [
        {"message_id": key, **{name: messages[key][name] for name in shown}}
        for key in reversed(messages)
    ]


def _prefixed(prefix: str, subject: str) -> str:
    return subject if subject.startswith(prefix) else prefix + subject


def _store(state: State, thread_id: str | None, **values: Any) -> str:
    """Keep a new message of the mailbox, in a new thread unless one is given, and return its id."""
    message = {
        "mailbox": _me(state),
        "date": state["now"],
        "sender": _me(state),
        "cc": [],
        "labels": [],
        "attachments": [],
        "unread": False,
        **values,
    }
    threads = {other["thread_id"] for other in state["messages"].values()}
    message["thread_id"] = thread_id or content_id("T", message, threads)
    key = content_id("M", message, state["messages"])
    state["messages"][key] = message
    return key


def _receipt(state: State, message_id: str) -> Any:
    """Return the fields that are shown of a message that was just written or sent."""
    message = state["messages"][message_id]
    shown = (
        "thread_id",
        "folder",
        "date",
        "sender",
        "to",
        "cc",
        "subject",
        "attachments",
        "labels",
    )
    return {"message_id": message_id, **{name: message[name] for name in shown}}


def _open_mailbox(state: State, address: str, pin: str) -> Any:
    mailbox = state["mailboxes"].get(address)
    if mailbox is None or mailbox["pin"] != pin:
        raise ToolFailure("There is no mailbox with this address and PIN.")
    state["session"] = address
    unread = sum(
        message["unread"] for message in _mine(state).values() if message["folder"] == "inbox"
    )
    return {"owner": mailbox["owner"], "address": address, "unread": unread}


def _find_person(state: State, name: str) -> Any:
    _me(state)
    found = [person for person in state["people"] if person["name"].lower() == name.lower()]
    if not found:
        raise ToolFailure(f"The directory has nobody named {name!r}.")
    return {"people": sorted(found, key=lambda person: str(person["address"]))}


def _list_group(state: State, group: str) -> Any:
    _me(state)
    if group not in state["groups"]:
        raise ToolFailure(f"The directory has no group {group!r}.")
    return {"group": group, **state["groups"][group]}


def _list_folder(state: State, folder: str) -> Any:
    return {
        "messages": _rows(
            {key: each for key, each in _mine(state).items() if each["folder"] == folder}
        )
    }


def _list_by_sender(state: State, address: str) -> Any:
    return {
        "messages": _rows(
            {key: each for key, each in _mine(state).items() if each["sender"] == address}
        )
    }


def _read_message(state: State, message_id: str) -> Any:
    message = _message(state, message_id)
    shown = (
        "thread_id",
        "folder",
        "date",
        "sender",
        "to",
        "cc",
        "subject",
        "text",
        "labels",
        "attachments",
        "unread",
    )
    return {"message_id": message_id, **{name: message[name] for name in shown}}


def _read_thread(state: State, thread_id: str) -> Any:
    thread = {key: each for key, each in _mine(state).items() if each["thread_id"] == thread_id}
    if not thread:
        raise ToolFailure(f"This mailbox has no thread {thread_id!r}.")
    involved = [
        address
        for each in thread.values()
        for address in (each["sender"], *each["to"], *each["cc"])
    ]
    listed = [
        {"message_id": key, "date": each["date"], "sender": each["sender"]}
        for key, each in thread.items()
    ]
    participants = [address for address in dict.fromkeys(involved) if address != _me(state)]
    first = next(iter(thread.values()))
    return {
        "thread_id": thread_id,
        "subject": first["subject"],
        "participants": participants,
        "messages": listed,
    }


def _send_message(state: State, to: list[str], subject: str, text: str, cc: list[str]) -> Any:
    return _receipt(
        state, _store(state, None, folder="sent", to=to, cc=cc, subject=subject, text=text)
    )


def _write_draft(state: State, to: list[str], subject: str, text: str) -> Any:
    return _receipt(state, _store(state, None, folder="drafts", to=to, subject=subject, text=text))


def _release_draft(state: State, message_id: str, send_at: str) -> Any:
    draft = _message(state, message_id)
    if draft["folder"] != "drafts":
        raise ToolFailure(
            f"Message {message_id} is in the folder {draft['folder']} and is no draft."
        )
    later = send_at != "now"
    if later and _moment(send_at) <= state["now"]:
        raise ToolFailure(f"{send_at} is not in the future: it is {state['now']}.")
    draft["folder"] = "outbox" if later else "sent"
    draft["date"] = send_at if later else state["now"]
    return _receipt(state, message_id)


def _moment(written: str) -> str:
    try:
        return datetime.strptime(written, _DATE_FORMAT).strftime(_DATE_FORMAT)  # noqa: DTZ007 (a wall clock of the data)
    except ValueError as problem:
        raise ToolFailure(
            f"{written!r} is no date and time of the form YYYY-MM-DD HH:MM."
        ) from problem


def _answer_message(state: State, message_id: str, text: str, audience: str) -> Any:
    message, me = _message(state, message_id), _me(state)
    if message["folder"] in ("drafts", "outbox"):
        raise ToolFailure(f"Message {message_id} has not been sent yet.")
    first = message["to"] if message["sender"] == me else [message["sender"]]
    rest = [*message["to"], *message["cc"]] if audience == "everyone" else []
    to = [address for address in dict.fromkeys([*first, *rest]) if address != me]
    subject = _prefixed("Re: ", message["subject"])
    return _receipt(
        state, _store(state, message["thread_id"], folder="sent", to=to, subject=subject, text=text)
    )


def _forward_message(state: State, message_id: str, to: list[str], note: str) -> Any:
    message = _message(state, message_id)
    subject, quoted = _prefixed("Fwd: ", message["subject"]), f"> {message['text']}"
    key = _store(
        state,
        None,
        folder="sent",
        to=to,
        subject=subject,
        text=f"{note}\n{quoted}" if note else quoted,
        attachments=list(message["attachments"]),
    )
    return _receipt(state, key)


def _put_label(state: State, message_id: str, label: str) -> Any:
    message = _message(state, message_id)
    if label not in message["labels"]:
        message["labels"].append(label)
    return {"message_id": message_id, "labels": message["labels"]}


def _move_message(state: State, message_id: str, folder: str) -> Any:
    message = _message(state, message_id)
    if message["folder"] == folder:
        raise ToolFailure(f"Message {message_id} is in the folder {folder} already.")
    came_from, message["folder"] = message["folder"], folder
    return {"message_id": message_id, "folder": folder, "came_from": came_from}


_MESSAGE_ID = text("Id of a message, as M-10000.")
_ADDRESSES = {
    "type": "array",
    "items": text("An address.", pattern=r"^[^@\s]+@[^@\s]+$"),
    "minItems": 1,
    "uniqueItems": True,
}


def _addresses(description: str, **more: Any) -> dict[str, Any]:
    return {**_ADDRESSES, "description": description, **more}


def _reads(name: str, description: str, run: Any, resource: str, /, **properties: Any) -> Tool:
    return reader(name, description, run, (_SESSION, resource), **properties)


def _writes(name: str, description: str, run: Any, /, **properties: Any) -> Tool:
    return writer(name, description, run, (_SESSION, _MAIL), (_MAIL,), **properties)


_OPEN_MAILBOX = setter(
    "open_mailbox",
    "Signs in to a mailbox, out of any other, and counts the unread messages of its inbox. "
    "Every other operation concerns the mailbox that is signed in to, and fails without one.",
    _open_mailbox,
    (_MAIL,),
    (_SESSION,),
    address=text("Address of the mailbox."),
    pin=text("Its PIN: digits, as text."),
)
_PLACES = choice("Which folder.", _FOLDERS, default="inbox")
_TARGETS = choice("Where it goes.", ("inbox", "archive", "spam", "bin"))
_AUDIENCE = choice(
    "Who sent the message (if that is the owner of the mailbox: whom it was sent to), or also all others it went to.",
    ("sender", "everyone"),
    default="sender",
)
_SEND_AT = text(
    "Date and time as YYYY-MM-DD HH:MM, or now.", pattern=f"^(now|{_DATE_PATTERN})$", default="now"
)

TOOLSET = toolset(
    Category.MESSAGE_API,
    STATE_SCHEMA,
    (
        _OPEN_MAILBOX,
        _reads(
            "find_person",
            "Tells address, team and room of everybody in the directory who bears a name.",
            _find_person,
            _DIRECTORY,
            name=text("First and last name."),
        ),
        _reads(
            "list_group",
            "Tells owner and members of a group, by address.",
            _list_group,
            _DIRECTORY,
            group=text("Its name."),
        ),
        _reads(
            "list_folder",
            "Lists the messages of a folder, newest first.",
            _list_folder,
            _MAIL,
            folder=_PLACES,
        ),
        _reads(
            "list_by_sender",
            "Lists the messages from one address in all folders, newest first.",
            _list_by_sender,
            _MAIL,
            address=text("Address of the sender."),
        ),
        _reads(
            "read_message",
            "Gives all of a message, which stays unread if it is.",
            _read_message,
            _MAIL,
            message_id=_MESSAGE_ID,
        ),
        _reads(
            "read_thread",
            "Tells who takes part in a thread besides the owner of the mailbox, and its messages, oldest first.",
            _read_thread,
            _MAIL,
            thread_id=text("Id of a thread, as T-10000."),
        ),
        _writes(
            "send_message",
            "Sends a new message at once.",
            _send_message,
            to=_addresses("Addresses of the recipients."),
            subject=text("Subject line."),
            text=text("The message."),
            cc=_addresses("Addresses that get a copy.", minItems=0, default=[]),
        ),
        _writes(
            "answer_message",
            "Replies to a message, in its thread.",
            _answer_message,
            message_id=_MESSAGE_ID,
            text=text("The reply."),
            audience=_AUDIENCE,
        ),
        _writes(
            "forward_message",
            "Passes a message with its attachments on to others, in a new thread.",
            _forward_message,
            message_id=_MESSAGE_ID,
            to=_addresses("Addresses of the recipients."),
            note={
                "type": "string",
                "description": "Words put above it; none unless given.",
                "default": "",
            },
        ),
        _writes(
            "write_draft",
            "Keeps a new message as a draft without sending it.",
            _write_draft,
            to=_addresses("Addresses of the recipients."),
            subject=text("Subject line."),
            text=text("The message."),
        ),
        _writes(
            "release_draft",
            "Sends a draft, or puts it into the outbox to be sent later.",
            _release_draft,
            message_id=text("Id of the draft, as M-10000."),
            send_at=_SEND_AT,
        ),
        setter(
            "put_label",
            "Adds a label to a message, made if there is none of that name, and tells all labels of the message.",
            _put_label,
            (_SESSION, _MAIL),
            (_MAIL,),
            message_id=_MESSAGE_ID,
            label=text("Name of the label."),
        ),
        _writes(
            "move_message",
            "Puts a message into another folder and tells which one it came from.",
            _move_message,
            message_id=_MESSAGE_ID,
            folder=_TARGETS,
        ),
    ),
)
