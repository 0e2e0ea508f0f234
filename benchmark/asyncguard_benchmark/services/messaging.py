"""MA: a mail service with mailboxes, folders, threads, drafts, labels and a directory of people and groups.

Nothing works before a mailbox is signed in to, and everything then concerns that mailbox. Mail that goes out leaves one
copy, the sender's: no reply ever comes by itself, and time stands still, so a run depends on nothing but its calls.
Dates are texts ``YYYY-MM-DD HH:MM``, which sort as they should.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Distinct, Text, one_of
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import Effect, State, tool
from asyncguard_benchmark.services.records import fields_of, require
from asyncguard_benchmark.services.service import toolset
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

MessageId = Annotated[Text, "Id of a message, as M-10000."]
Address = Annotated[Text, "An address.", {"pattern": r"^[^@\s]+@[^@\s]+$"}]
Recipients = Annotated[Distinct[Address], "Addresses of the recipients."]
Subject = Annotated[Text, "Subject line."]
MessageText = Annotated[Text, "The message."]


def _me(state: State) -> Any:
    """Return the address of the mailbox that is signed in to."""
    return require(state["session"], "No mailbox is signed in to.")


def _mine(state: State) -> dict[str, dict[str, Any]]:
    """Return the messages of the mailbox, oldest first."""
    me = _me(state)
    mine = [
        (key, message) for key, message in state["messages"].items() if message["mailbox"] == me
    ]
    return dict(sorted(mine, key=lambda item: (item[1]["date"], item[0])))


def _message(state: State, message_id: str) -> Any:
    return require(_mine(state).get(message_id), f"This mailbox has no message {message_id!r}.")


def _rows(messages: dict[str, dict[str, Any]]) -> Any:
    """Return one line a message, newest first."""
    return [
        {
            "message_id": key,
            **fields_of(messages[key], "folder date sender to subject labels unread"),
        }
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
    return {
        "message_id": message_id,
        **fields_of(message, "thread_id folder date sender to cc subject attachments labels"),
    }


@tool(effect=Effect.IDEMPOTENT, reads=(_MAIL,), writes=(_SESSION,))
def open_mailbox(
    state: State,
    address: Annotated[Text, "Address of the mailbox."],
    pin: Annotated[Text, "Its PIN: digits, as text."],
) -> Any:
    """Signs in to a mailbox, out of any other, and counts the unread messages of its inbox.

    Every other operation concerns the mailbox that is signed in to, and fails without one.
    """
    mailbox = state["mailboxes"].get(address)
    if mailbox is None or mailbox["pin"] != pin:
        raise ToolFailure("There is no mailbox with this address and PIN.")
    state["session"] = address
    unread = sum(
        message["unread"] for message in _mine(state).values() if message["folder"] == "inbox"
    )
    return {"owner": mailbox["owner"], "address": address, "unread": unread}


@tool(reads=(_SESSION, _DIRECTORY))
def find_person(state: State, name: Annotated[Text, "First and last name."]) -> Any:
    """Tells address, team and room of everybody in the directory who bears a name."""
    _me(state)
    found = [person for person in state["people"] if person["name"].lower() == name.lower()]
    if not found:
        raise ToolFailure(f"The directory has nobody named {name!r}.")
    return {"people": sorted(found, key=lambda person: str(person["address"]))}


@tool(reads=(_SESSION, _DIRECTORY))
def list_group(state: State, group: Annotated[Text, "Its name."]) -> Any:
    """Tells owner and members of a group, by address."""
    _me(state)
    found = require(state["groups"].get(group), f"The directory has no group {group!r}.")
    return {"group": group, **found}


@tool(reads=(_SESSION, _MAIL))
def list_folder(
    state: State, folder: Annotated[str, one_of(_FOLDERS), "Which folder."] = "inbox"
) -> Any:
    """Lists the messages of a folder, newest first."""
    return {
        "messages": _rows(
            {key: each for key, each in _mine(state).items() if each["folder"] == folder}
        )
    }


@tool(reads=(_SESSION, _MAIL))
def list_by_sender(state: State, address: Annotated[Text, "Address of the sender."]) -> Any:
    """Lists the messages from one address in all folders, newest first."""
    return {
        "messages": _rows(
            {key: each for key, each in _mine(state).items() if each["sender"] == address}
        )
    }


@tool(reads=(_SESSION, _MAIL))
def read_message(state: State, message_id: MessageId) -> Any:
    """Gives all of a message, which stays unread if it is."""
    message = _message(state, message_id)
    return {
        "message_id": message_id,
        **fields_of(
            message, "thread_id folder date sender to cc subject text labels attachments unread"
        ),
    }


@tool(reads=(_SESSION, _MAIL))
def read_thread(state: State, thread_id: Annotated[Text, "Id of a thread, as T-10000."]) -> Any:
    """Tells who takes part in a thread besides the owner of the mailbox, and its messages, oldest first."""
    thread = {key: each for key, each in _mine(state).items() if each["thread_id"] == thread_id}
    if not thread:
        raise ToolFailure(f"This mailbox has no thread {thread_id!r}.")
    involved = [
        address
        for each in thread.values()
        for address in (each["sender"], *each["to"], *each["cc"])
    ]
    listed = [{"message_id": key, **fields_of(each, "date sender")} for key, each in thread.items()]
    participants = [address for address in dict.fromkeys(involved) if address != _me(state)]
    first = next(iter(thread.values()))
    return {
        "thread_id": thread_id,
        "subject": first["subject"],
        "participants": participants,
        "messages": listed,
    }


@tool(reads=(_SESSION, _MAIL), writes=(_MAIL,))
def send_message(
    state: State,
    to: Recipients,
    subject: Subject,
    text: MessageText,
    cc: Annotated[
        Distinct[Address], {"minItems": 0}, "Addresses that get a copy.", {"default": []}
    ],
) -> Any:
    """Sends a new message at once."""
    return _receipt(
        state, _store(state, None, folder="sent", to=to, cc=cc, subject=subject, text=text)
    )


@tool(reads=(_SESSION, _MAIL), writes=(_MAIL,))
def write_draft(
    state: State,
    to: Recipients,
    subject: Subject,
    text: MessageText,
) -> Any:
    """Keeps a new message as a draft without sending it."""
    return _receipt(state, _store(state, None, folder="drafts", to=to, subject=subject, text=text))


@tool(reads=(_SESSION, _MAIL), writes=(_MAIL,))
def release_draft(
    state: State,
    message_id: Annotated[Text, "Id of the draft, as M-10000."],
    send_at: Annotated[
        Text,
        "Date and time as YYYY-MM-DD HH:MM, or now.",
        {"pattern": f"^(now|{_DATE_PATTERN})$"},
    ] = "now",
) -> Any:
    """Sends a draft, or puts it into the outbox to be sent later."""
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


@tool(reads=(_SESSION, _MAIL), writes=(_MAIL,))
def answer_message(
    state: State,
    message_id: MessageId,
    text: Annotated[Text, "The reply."],
    audience: Annotated[
        Literal["sender", "everyone"],
        "Who sent the message (if that is the owner of the mailbox: whom it was sent to), "
        "or also all others it went to.",
    ] = "sender",
) -> Any:
    """Replies to a message, in its thread."""
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


@tool(reads=(_SESSION, _MAIL), writes=(_MAIL,))
def forward_message(
    state: State,
    message_id: MessageId,
    to: Recipients,
    note: Annotated[str, "Words put above it; none unless given."] = "",
) -> Any:
    """Passes a message with its attachments on to others, in a new thread."""
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


@tool(effect=Effect.IDEMPOTENT, reads=(_SESSION, _MAIL), writes=(_MAIL,))
def put_label(
    state: State, message_id: MessageId, label: Annotated[Text, "Name of the label."]
) -> Any:
    """Adds a label to a message, made if there is none of that name, and tells all labels of the message."""
    message = _message(state, message_id)
    if label not in message["labels"]:
        message["labels"].append(label)
    return {"message_id": message_id, "labels": message["labels"]}


@tool(reads=(_SESSION, _MAIL), writes=(_MAIL,))
def move_message(
    state: State,
    message_id: MessageId,
    folder: Annotated[Literal["inbox", "archive", "spam", "bin"], "Where it goes."],
) -> Any:
    """Puts a message into another folder and tells which one it came from."""
    message = _message(state, message_id)
    if message["folder"] == folder:
        raise ToolFailure(f"Message {message_id} is in the folder {folder} already.")
    came_from, message["folder"] = message["folder"], folder
    return {"message_id": message_id, "folder": folder, "came_from": came_from}


TOOLSET = toolset(
    Category.MESSAGE_API,
    STATE_SCHEMA,
    (
        open_mailbox,
        find_person,
        list_group,
        list_folder,
        list_by_sender,
        read_message,
        read_thread,
        send_message,
        answer_message,
        forward_message,
        write_draft,
        release_draft,
        put_label,
        move_message,
    ),
)
