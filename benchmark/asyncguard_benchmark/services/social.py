"""SC: a social network with walls, groups, comments, mentions and people who follow each other.

Nothing works before a member has logged on, and everything is then done as that member. Posts in a
group are for its members only. Other members do nothing and time stands still, so a run depends on
nothing but its calls. Dates are texts ``YYYY-MM-DD HH:MM``, which sort as they should.
"""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import State, Tool, text
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, setter, writer
from asyncguard_benchmark.services.state_shapes import COUNT, WORD, optional, record, rows, table

_SESSION = "social:{task_id}:session"
_PEOPLE = "social:{task_id}:people"
_FOLLOWS = "social:{task_id}:follows"
_PINS = "social:{task_id}:pins"
_GROUPS = "social:{task_id}:groups"
_POSTS = "social:{task_id}:posts"

_WALL = "wall"
"""Place of a post that is in no group."""

_DATE = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d \d\d:\d\d$"}
_WORDS = rows(WORD)

STATE_SCHEMA = record(
    now=_DATE,
    session=optional(WORD),
    passcodes=table(WORD),
    members=table(
        record(name=WORD, town=WORD, trade=WORD, following=_WORDS, pinned_post=optional(WORD))
    ),
    groups=table(record(title=WORD, topic=WORD, town=WORD, owner=WORD, members=_WORDS)),
    posts=table(
        record(
            author=WORD,
            date=_DATE,
            place=WORD,
            text=WORD,
            tags=_WORDS,
            likes=COUNT,
            shared_from=optional(WORD),
            comments=rows(record(comment_id=WORD, author=WORD, date=_DATE, text=WORD)),
        )
    ),
)


def _me(state: State) -> str:
    """Return the handle of the member who is logged on."""
    if state["session"] is None:
        raise ToolFailure("Nobody is logged on.")
    handle: str = state["session"]
    return handle


def _member(state: State, handle: str) -> dict[str, Any]:
    _me(state)
    if handle not in state["members"]:
        raise ToolFailure(f"Nobody has the handle {handle!r}.")
    found: dict[str, Any] = state["members"][handle]
    return found


def _group(state: State, group_id: str) -> dict[str, Any]:
    _me(state)
    if group_id not in state["groups"]:
        raise ToolFailure(f"There is no group {group_id!r}.")
    found: dict[str, Any] = state["groups"][group_id]
    return found


def _sees(state: State, post: dict[str, Any]) -> bool:
    return post["place"] == _WALL or _me(state) in state["groups"][post["place"]]["members"]


def _visible(state: State) -> dict[str, dict[str, Any]]:
    """Return the posts that the member may see, newest first."""
    seen = [(key, post) for key, post in state["posts"].items() if _sees(state, post)]
    return dict(sorted(seen, key=lambda item: (item[1]["date"], item[0]), reverse=True))


def _post(state: State, post_id: str) -> dict[str, Any]:
    found = _visible(state).get(post_id)
    if found is None:
        raise ToolFailure(f"There is no post {post_id!r}, or it is for the members of a group.")
    return found


def _rows(posts: dict[str, dict[str, Any]]) -> Any:
    """Return one line a post, in the order given."""
    shown = ("author", "date", "text", "tags", "likes")
    return [
        {"post_id": key, **{name: post[name] for name in shown}, "comments": len(post["comments"])}
        for key, post in posts.items()
    ]


def _log_on(state: State, handle: str, passcode: str) -> Any:
    if state["passcodes"].get(handle) != passcode:
        raise ToolFailure("Handle and passcode do not fit.")
    state["session"] = handle
    return {"handle": handle, "groups": _groups_of(state, handle)}


def _groups_of(state: State, handle: str) -> list[str]:
    return sorted(key for key, group in state["groups"].items() if handle in group["members"])


def _find_member(state: State, name: str) -> Any:
    _me(state)
    shown = ("name", "town", "trade")
    found = [
        {"handle": handle, **{part: member[part] for part in shown}}
        for handle, member in sorted(state["members"].items())
        if member["name"].lower() == name.lower()
    ]
    if not found:
        raise ToolFailure(f"Nobody is named {name!r}.")
    return {"members": found}


def _show_profile(state: State, handle: str) -> Any:
    member = _member(state, handle)
    followers = sorted(
        other for other, each in state["members"].items() if handle in each["following"]
    )
    return {"handle": handle, **member, "followers": followers, "groups": _groups_of(state, handle)}


def _list_posts(state: State, handle: str) -> Any:
    _member(state, handle)
    posts = _visible(state).items()
    return {
        "posts": _rows(
            {key: each for key, each in posts if (each["author"], each["place"]) == (handle, _WALL)}
        )
    }


def _show_post(state: State, post_id: str) -> Any:
    return {"post_id": post_id, **_post(state, post_id)}


def _mentioned(text: str) -> set[str]:
    """Return the handles that a text names as @handle, punctuation apart."""
    return {
        word.strip(".,;:!?()\"'")[1:]
        for word in text.split()
        if word.strip(".,;:!?()\"'").startswith("@")
    }


def _list_mentions(state: State) -> Any:
    me, found = _me(state), []
    for key, post in _visible(state).items():
        said = {"comment_id": None, **{name: post[name] for name in ("author", "date", "text")}}
        found += [
            {"post_id": key, **each}
            for each in (said, *post["comments"])
            if me in _mentioned(each["text"])
        ]
    others = [each for each in found if each["author"] != me]
    return {"mentions": sorted(others, key=lambda each: str(each["date"]), reverse=True)}


def _find_groups(state: State, topic: str) -> Any:
    _me(state)
    found = [
        (key, group)
        for key, group in sorted(state["groups"].items())
        if group["topic"].lower() == topic.lower()
    ]
    shown = ("title", "town", "owner")
    listed = [
        {"group_id": key, **{name: group[name] for name in shown}, "members": len(group["members"])}
        for key, group in found
    ]
    return {"groups": listed}


def _browse_group(state: State, group_id: str) -> Any:
    group = _group(state, group_id)
    _check_place(state, group_id)
    posts = {key: each for key, each in _visible(state).items() if each["place"] == group_id}
    shown = ("title", "owner", "members")
    return {"group_id": group_id, **{name: group[name] for name in shown}, "posts": _rows(posts)}


def _join_group(state: State, group_id: str) -> Any:
    group, me = _group(state, group_id), _me(state)
    if me not in group["members"]:
        group["members"].append(me)
    shown = ("title", "town", "owner")
    return {
        "group_id": group_id,
        **{name: group[name] for name in shown},
        "members": len(group["members"]),
    }


def _check_place(state: State, place: str) -> None:
    """Refuse a member who is not in the group: only members see it or write there."""
    if place != _WALL and _me(state) not in _group(state, place)["members"]:
        raise ToolFailure(f"Only members of group {place} may do that.")


def _store(state: State, place: str, shared_from: str | None, text: str, tags: list[str]) -> Any:
    """Keep a new post of the member and tell of it."""
    author = _me(state)
    _check_place(state, place)
    post = {
        "author": author,
        "date": state["now"],
        "place": place,
        "text": text,
        "tags": tags,
        "likes": 0,
        "shared_from": shared_from,
        "comments": [],
    }
    key = content_id("P", post, state["posts"])
    state["posts"][key] = post
    shown = ("author", "place", "tags", "shared_from")
    return {"post_id": key, **{name: post[name] for name in shown}}


def _publish_post(state: State, text: str, tags: list[str], place: str) -> Any:
    return _store(state, place, None, text, tags)


def _share_post(state: State, post_id: str, remark: str, place: str) -> Any:
    return _store(state, place, post_id, remark, list(_post(state, post_id)["tags"]))


def _comment_on_post(state: State, post_id: str, text: str) -> Any:
    post, author = _post(state, post_id), _me(state)
    taken = {
        comment["comment_id"] for each in state["posts"].values() for comment in each["comments"]
    }
    key = content_id("C", [post_id, author, text], taken)
    post["comments"].append(
        {"comment_id": key, "author": author, "date": state["now"], "text": text}
    )
    return {
        "comment_id": key,
        "post_id": post_id,
        "post_author": post["author"],
        "comments": len(post["comments"]),
    }


def _follow_member(state: State, handle: str) -> Any:
    _member(state, handle)
    me = _me(state)
    if handle == me:
        raise ToolFailure("Nobody can follow themselves.")
    following = _member(state, me)["following"]
    if handle not in following:
        following.append(handle)
    followers = sum(handle in each["following"] for each in state["members"].values())
    return {"handle": handle, "followers": followers, "following": following}


def _pin_post(state: State, post_id: str) -> Any:
    post, me = _post(state, post_id), _me(state)
    if (post["author"], post["place"]) != (me, _WALL):
        raise ToolFailure("Only a post on one's own wall can be pinned.")
    _member(state, me)["pinned_post"] = post_id
    return {"handle": me, "pinned_post": post_id}


_HANDLE = text("Handle of a member, without @.")
_POST_ID = text("Id of a post, as P-10000.")
_GROUP_ID = text("Id of a group, as G-100.")
_PLACE = text(
    "Where it appears: the id of a group, as G-100, or wall for the own wall.", default=_WALL
)


def _reads(
    name: str, description: str, run: Any, resources: tuple[str, ...], /, **properties: Any
) -> Tool:
    return reader(name, description, run, (_SESSION, *resources), **properties)


def _posts(name: str, description: str, run: Any, /, **properties: Any) -> Tool:
    return writer(name, description, run, (_SESSION, _GROUPS, _POSTS), (_POSTS,), **properties)


_LOG_ON = setter(
    "log_on",
    "Starts acting as a member, instead of any other, and tells which groups the member is in. "
    "Every other operation is done as the member who is logged on, and fails if there is none.",
    _log_on,
    (_PEOPLE, _GROUPS),
    (_SESSION,),
    handle=_HANDLE,
    passcode=text("The member's passcode."),
)
_JOIN_GROUP = setter(
    "join_group",
    "Makes the member part of a group.",
    _join_group,
    (_SESSION, _GROUPS),
    (_GROUPS,),
    group_id=_GROUP_ID,
)
_FOLLOW_MEMBER = setter(
    "follow_member",
    "Lets the member see somebody's posts from now on, and lists whom the member follows, oldest first.",
    _follow_member,
    (_SESSION, _PEOPLE, _FOLLOWS),
    (_FOLLOWS,),
    handle=_HANDLE,
)
_PIN_POST = setter(
    "pin_post",
    "Keeps a post at the top of the member's own wall, in the place of any other.",
    _pin_post,
    (_SESSION, _POSTS, _GROUPS),
    (_PINS,),
    post_id=_POST_ID,
)

TOOLSET = toolset(
    Category.SOCIAL_CONNECT,
    STATE_SCHEMA,
    (
        _LOG_ON,
        _reads(
            "find_member",
            "Tells handle, town and trade of everybody who bears a name.",
            _find_member,
            (_PEOPLE,),
            name=text("First and last name."),
        ),
        _reads(
            "show_profile",
            "Tells who somebody is, whom they follow (oldest first), who follows them (by alphabet), their groups "
            "and the post at the top of their wall.",
            _show_profile,
            (_PEOPLE, _FOLLOWS, _PINS, _GROUPS),
            handle=_HANDLE,
        ),
        _reads(
            "list_posts",
            "Lists what is on a member's wall, newest first.",
            _list_posts,
            (_POSTS,),
            handle=_HANDLE,
        ),
        _reads(
            "show_post",
            "Gives all of a post with its comments, oldest first.",
            _show_post,
            (_POSTS, _GROUPS),
            post_id=_POST_ID,
        ),
        _reads(
            "list_mentions",
            "Lists posts and comments of others that name the member with @, newest first.",
            _list_mentions,
            (_POSTS, _GROUPS),
        ),
        _reads(
            "find_groups",
            "Lists the groups about a topic.",
            _find_groups,
            (_GROUPS,),
            topic=text("One word."),
        ),
        _reads(
            "browse_group",
            "Lists members and posts of a group, the newest post first; for its members only.",
            _browse_group,
            (_GROUPS, _POSTS),
            group_id=_GROUP_ID,
        ),
        _JOIN_GROUP,
        _posts(
            "publish_post",
            "Writes a post.",
            _publish_post,
            text=text("The post."),
            tags={
                "type": "array",
                "items": text("A tag, without #."),
                "description": "Tags.",
                "default": [],
            },
            place=_PLACE,
        ),
        _posts(
            "comment_on_post",
            "Writes below a post.",
            _comment_on_post,
            post_id=_POST_ID,
            text=text("The comment."),
        ),
        _posts(
            "share_post",
            "Shows a post, with its tags, again in a post of the member's own.",
            _share_post,
            post_id=_POST_ID,
            remark=text("What the member says about it."),
            place=_PLACE,
        ),
        _FOLLOW_MEMBER,
        _PIN_POST,
    ),
)
