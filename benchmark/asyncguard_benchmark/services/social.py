"""SC: a social network with walls, groups, comments, mentions and people who follow each other.

Nothing works before a member has logged on, and everything is then done as that member. Posts in a
group are for its members only. Other members do nothing and time stands still, so a run depends on
nothing but its calls. Dates are texts ``YYYY-MM-DD HH:MM``, which sort as they should.
"""

from typing import Annotated, Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Text
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import Effect, State, tool
from asyncguard_benchmark.services.records import entry, fields_of, require
from asyncguard_benchmark.services.service import toolset
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

Handle = Annotated[Text, "Handle of a member, without @."]
PostId = Annotated[Text, "Id of a post, as P-10000."]
GroupId = Annotated[Text, "Id of a group, as G-100."]
Place = Annotated[Text, "Where it appears: the id of a group, as G-100, or wall for the own wall."]


def _me(state: State) -> Any:
    """Return the handle of the member who is logged on."""
    return require(state["session"], "Nobody is logged on.")


def _member(state: State, handle: str) -> Any:
    _me(state)
    return require(state["members"].get(handle), f"Nobody has the handle {handle!r}.")


def _group(state: State, group_id: str) -> Any:
    _me(state)
    return entry(state, "groups", group_id, "group")


def _sees(state: State, post: dict[str, Any]) -> bool:
    return post["place"] == _WALL or _me(state) in state["groups"][post["place"]]["members"]


def _visible(state: State) -> dict[str, dict[str, Any]]:
    """Return the posts that the member may see, newest first."""
    seen = [(key, post) for key, post in state["posts"].items() if _sees(state, post)]
    return dict(sorted(seen, key=lambda item: (item[1]["date"], item[0]), reverse=True))


def _post(state: State, post_id: str) -> Any:
    return require(
        _visible(state).get(post_id),
        f"There is no post {post_id!r}, or it is for the members of a group.",
    )


def _rows(posts: dict[str, dict[str, Any]]) -> Any:
    """Return one line a post, in the order given."""
    return [
        {
            "post_id": key,
            **fields_of(post, "author date text tags likes"),
            "comments": len(post["comments"]),
        }
        for key, post in posts.items()
    ]


@tool(effect=Effect.IDEMPOTENT, reads=(_PEOPLE, _GROUPS), writes=(_SESSION,))
def log_on(
    state: State, handle: Handle, passcode: Annotated[Text, "The member's passcode."]
) -> Any:
    """Starts acting as a member, instead of any other, and tells which groups the member is in.

    Every other operation is done as the member who is logged on, and fails if there is none.
    """
    if state["passcodes"].get(handle) != passcode:
        raise ToolFailure("Handle and passcode do not fit.")
    state["session"] = handle
    return {"handle": handle, "groups": _groups_of(state, handle)}


def _groups_of(state: State, handle: str) -> list[str]:
    return sorted(key for key, group in state["groups"].items() if handle in group["members"])


@tool(reads=(_SESSION, _PEOPLE))
def find_member(state: State, name: Annotated[Text, "First and last name."]) -> Any:
    """Tells handle, town and trade of everybody who bears a name."""
    _me(state)
    found = [
        {"handle": handle, **fields_of(member, "name town trade")}
        for handle, member in sorted(state["members"].items())
        if member["name"].lower() == name.lower()
    ]
    if not found:
        raise ToolFailure(f"Nobody is named {name!r}.")
    return {"members": found}


@tool(reads=(_SESSION, _PEOPLE, _FOLLOWS, _PINS, _GROUPS))
def show_profile(state: State, handle: Handle) -> Any:
    """Tells who somebody is, whom they follow (oldest first), who follows them (by alphabet), their
    groups and the post at the top of their wall.
    """
    member = _member(state, handle)
    followers = sorted(
        other for other, each in state["members"].items() if handle in each["following"]
    )
    return {"handle": handle, **member, "followers": followers, "groups": _groups_of(state, handle)}


@tool(reads=(_SESSION, _POSTS))
def list_posts(state: State, handle: Handle) -> Any:
    """Lists what is on a member's wall, newest first."""
    _member(state, handle)
    posts = _visible(state).items()
    return {
        "posts": _rows(
            {key: each for key, each in posts if (each["author"], each["place"]) == (handle, _WALL)}
        )
    }


@tool(reads=(_SESSION, _POSTS, _GROUPS))
def show_post(state: State, post_id: PostId) -> Any:
    """Gives all of a post with its comments, oldest first."""
    return {"post_id": post_id, **_post(state, post_id)}


def _mentioned(text: str) -> set[str]:
    """Return the handles that a text names as @handle, punctuation apart."""
    return {
        word.strip(".,;:!?()\"'")[1:]
        for word in text.split()
        if word.strip(".,;:!?()\"'").startswith("@")
    }


@tool(reads=(_SESSION, _POSTS, _GROUPS))
def list_mentions(state: State) -> Any:
    """Lists posts and comments of others that name the member with @, newest first."""
    me, found = _me(state), []
    for key, post in _visible(state).items():
        said = {"comment_id": None, **fields_of(post, "author date text")}
        found += [
            {"post_id": key, **each}
            for each in (said, *post["comments"])
            if me in _mentioned(each["text"])
        ]
    others = [each for each in found if each["author"] != me]
    return {"mentions": sorted(others, key=lambda each: str(each["date"]), reverse=True)}


@tool(reads=(_SESSION, _GROUPS))
def find_groups(state: State, topic: Annotated[Text, "One word."]) -> Any:
    """Lists the groups about a topic."""
    _me(state)
    found = [
        (key, group)
        for key, group in sorted(state["groups"].items())
        if group["topic"].lower() == topic.lower()
    ]
    listed = [
        {"group_id": key, **fields_of(group, "title town owner"), "members": len(group["members"])}
        for key, group in found
    ]
    return {"groups": listed}


@tool(reads=(_SESSION, _GROUPS, _POSTS))
def browse_group(state: State, group_id: GroupId) -> Any:
    """Lists members and posts of a group, the newest post first; for its members only."""
    group = _group(state, group_id)
    _check_place(state, group_id)
    posts = {key: each for key, each in _visible(state).items() if each["place"] == group_id}
    return {"group_id": group_id, **fields_of(group, "title owner members"), "posts": _rows(posts)}


@tool(effect=Effect.IDEMPOTENT, reads=(_SESSION, _GROUPS), writes=(_GROUPS,))
def join_group(state: State, group_id: GroupId) -> Any:
    """Makes the member part of a group."""
    group, me = _group(state, group_id), _me(state)
    if me not in group["members"]:
        group["members"].append(me)
    return {
        "group_id": group_id,
        **fields_of(group, "title town owner"),
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
    return {"post_id": key, **fields_of(post, "author place tags shared_from")}


@tool(reads=(_SESSION, _GROUPS, _POSTS), writes=(_POSTS,))
def publish_post(
    state: State,
    text: Annotated[Text, "The post."],
    tags: Annotated[list[Annotated[Text, "A tag, without #."]], "Tags.", {"default": []}],
    place: Place = "wall",
) -> Any:
    """Writes a post."""
    return _store(state, place, None, text, tags)


@tool(reads=(_SESSION, _GROUPS, _POSTS), writes=(_POSTS,))
def share_post(
    state: State,
    post_id: PostId,
    remark: Annotated[Text, "What the member says about it."],
    place: Place = "wall",
) -> Any:
    """Shows a post, with its tags, again in a post of the member's own."""
    return _store(state, place, post_id, remark, list(_post(state, post_id)["tags"]))


@tool(reads=(_SESSION, _GROUPS, _POSTS), writes=(_POSTS,))
def comment_on_post(state: State, post_id: PostId, text: Annotated[Text, "The comment."]) -> Any:
    """Writes below a post."""
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


@tool(effect=Effect.IDEMPOTENT, reads=(_SESSION, _PEOPLE, _FOLLOWS), writes=(_FOLLOWS,))
def follow_member(state: State, handle: Handle) -> Any:
    """Lets the member see somebody's posts from now on, and lists whom the member follows, oldest first."""
    _member(state, handle)
    me = _me(state)
    if handle == me:
        raise ToolFailure("Nobody can follow themselves.")
    following = _member(state, me)["following"]
    if handle not in following:
        following.append(handle)
    followers = sum(handle in each["following"] for each in state["members"].values())
    return {"handle": handle, "followers": followers, "following": following}


@tool(effect=Effect.IDEMPOTENT, reads=(_SESSION, _POSTS, _GROUPS), writes=(_PINS,))
def pin_post(state: State, post_id: PostId) -> Any:
    """Keeps a post at the top of the member's own wall, in the place of any other."""
    post, me = _post(state, post_id), _me(state)
    if (post["author"], post["place"]) != (me, _WALL):
        raise ToolFailure("Only a post on one's own wall can be pinned.")
    _member(state, me)["pinned_post"] = post_id
    return {"handle": me, "pinned_post": post_id}


TOOLSET = toolset(
    Category.SOCIAL_CONNECT,
    STATE_SCHEMA,
    (
        log_on,
        find_member,
        show_profile,
        list_posts,
        show_post,
        list_mentions,
        find_groups,
        browse_group,
        join_group,
        publish_post,
        comment_on_post,
        share_post,
        follow_member,
        pin_post,
    ),
)
