import json
from typing import Any

import pytest

from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.services.social import TOOLSET
from tests.benchmark.builders import SUB_TASKS


def network(task_id: str) -> Executor:
    """All tools, on the state of a shipped task."""
    return Executor(TOOLSET.tools, SUB_TASKS[task_id].initial_state)


def ask(net: Executor, name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(net.call(name, values))


def ids(listed: Any) -> list[str]:
    """The ids of listed posts in order."""
    return [row["post_id"] for row in listed["posts"]]


def test_nothing_works_before_somebody_has_logged_on() -> None:
    """Another member's passcode does not log on."""
    net = network("sc-05")
    for name, values in {
        "find_member": {"name": "Sepp Ofner"},
        "show_profile": {"handle": "sauer_sepp"},
        "list_posts": {"handle": "sauer_sepp"},
        "list_mentions": {},
        "find_groups": {"topic": "sourdough"},
        "join_group": {"group_id": "G-509"},
        "publish_post": {"text": "x"},
        "follow_member": {"handle": "sauer_sepp"},
    }.items():
        assert "logged on" in ask(net, name, **values)["error"]
    assert "passcode" in ask(net, "log_on", handle="mira_teig", passcode="kruste-7")["error"]
    assert "logged on" in ask(net, "list_mentions")["error"]
    assert ask(net, "log_on", handle="mira_teig", passcode="kruste-77") == {
        "handle": "mira_teig",
        "groups": [],
    }


def test_a_group_is_for_its_members_only() -> None:
    """Outsiders neither see its posts nor write there; joining opens it, joining again changes nothing."""
    net = network("sc-07")
    refused = {
        "browse_group": {"group_id": "G-611"},
        "show_post": {"post_id": "P-62155"},
        "comment_on_post": {"post_id": "P-62155", "text": "x"},
        "share_post": {"post_id": "P-62155", "remark": "x"},
        "publish_post": {"text": "x", "place": "G-611"},
    }
    for name, values in refused.items():
        assert "members of" in ask(net, name, **values)["error"]
    joined = ask(net, "join_group", group_id="G-611")
    assert (joined["members"], ask(net, "join_group", group_id="G-611")) == (3, joined)
    assert ids(ask(net, "browse_group", group_id="G-611")) == ["P-62155", "P-62100"]
    for name, values in refused.items():
        assert "error" not in ask(net, name, **values)
    assert "no group" in ask(net, "join_group", group_id="G-1")["error"]


def test_a_wall_shows_no_posts_of_groups() -> None:
    """A member's posts in a group are not on the wall, even for those who may see them."""
    net = network("sc-12")
    assert ids(ask(net, "list_posts", handle="glas_gitta")) == ["P-12004", "P-11880"]
    assert ids(ask(net, "browse_group", group_id="G-820")) == ["P-12015"]
    assert "Nobody has" in ask(net, "list_posts", handle="gitta")["error"]


def test_members_and_groups_are_found_by_whole_name_and_topic() -> None:
    """Everybody who bears the name is told; a topic is not searched in titles."""
    net = network("sc-02")
    assert [row["handle"] for row in ask(net, "find_member", name="odette roy")["members"]] == [
        "fil_blanc"
    ]
    assert "Nobody" in ask(net, "find_member", name="Odette")["error"]
    assert [row["group_id"] for row in ask(net, "find_groups", topic="Lace")["groups"]] == [
        "G-118",
        "G-140",
    ]
    assert ask(net, "find_groups", topic="Bobbins") == {"groups": []}


def test_mentions_are_whole_handles_of_others_in_posts_and_comments() -> None:
    """Punctuation does not hide a mention, a longer handle is another one, and own words do not count."""
    net = network("sc-11")
    ask(net, "log_on", handle="sternwarte_ost", passcode="komet-1910")
    found = [(row["post_id"], row["comment_id"]) for row in ask(net, "list_mentions")["mentions"]]
    assert found == [("P-95131", "C-9510"), ("P-95125", "C-9501"), ("P-95120", None)]
    ask(net, "publish_post", text="We are @sternwarte_ost!")
    ask(net, "comment_on_post", post_id="P-95125", text="(@sternwarte_ost), yes.")
    assert len(ask(net, "list_mentions")["mentions"]) == 3


def test_following_is_listed_oldest_first_and_once() -> None:
    """A second time changes nothing, oneself cannot be followed, and the profile of the other shows it."""
    net = network("sc-12")
    once = ask(net, "follow_member", handle="lumen_ada")
    assert once == {
        "handle": "lumen_ada",
        "followers": 1,
        "following": ["glas_gitta", "argon_al", "lumen_ada"],
    }
    assert ask(net, "follow_member", handle="lumen_ada") == once
    assert ask(net, "show_profile", handle="lumen_ada")["followers"] == ["neon_nils"]
    assert "themselves" in ask(net, "follow_member", handle="neon_nils")["error"]


def test_only_a_post_on_the_own_wall_can_be_pinned() -> None:
    """A post of another, or one in a group, is refused; a new pin takes the place of the old."""
    net = network("sc-18")
    ask(net, "log_on", handle="drachen_ole", passcode="leine-5")
    in_group = ask(net, "publish_post", text="x", place="G-700")["post_id"]
    ask(net, "join_group", group_id="G-703")
    for post_id in (in_group, "P-72001"):
        assert "own wall" in ask(net, "pin_post", post_id=post_id)["error"]
    for post_id in ("P-72009", ask(net, "publish_post", text="y")["post_id"]):
        assert ask(net, "pin_post", post_id=post_id)["pinned_post"] == post_id
        assert ask(net, "show_profile", handle="drachen_ole")["pinned_post"] == post_id


def test_a_shared_post_keeps_origin_and_tags() -> None:
    """It is a post of its own with the remark as its text, and the original stays as it was."""
    net = network("sc-12")
    before = ask(net, "show_post", post_id="P-12004")
    shared = ask(net, "share_post", post_id="P-12004", remark="Blue.")
    assert (shared["shared_from"], shared["tags"], shared["place"]) == (
        "P-12004",
        ["glass", "blue"],
        "wall",
    )
    assert ask(net, "show_post", post_id=shared["post_id"])["text"] == "Blue."
    assert ask(net, "show_post", post_id="P-12004") == before


def test_comments_stand_oldest_first() -> None:
    """A new one is the last, and the answer counts them."""
    net = network("sc-04")
    said = ask(net, "comment_on_post", post_id="P-40417", text="Here, too.")
    assert (said["comments"], said["post_author"]) == (4, "lamp_post")
    comments = ask(net, "show_post", post_id="P-40417")["comments"]
    assert [each["author"] for each in comments] == [
        "tin_roof",
        "flat_six",
        "gull_and_co",
        "flat_six",
    ]
    assert comments[-1]["comment_id"] == said["comment_id"]


@pytest.mark.parametrize("tool", ["publish_post", "comment_on_post"])
def test_an_extra_post_or_comment_does_not_shift_the_ids_of_another(tool: str) -> None:
    """Ids come from what is written; equal posts and comments have different ones."""
    where = {"post_id": "P-40417"} if tool == "comment_on_post" else {}
    plain, extra = network("sc-04"), network("sc-04")
    ask(extra, tool, **where, text="Something else.")
    name = "comment_id" if where else "post_id"
    first, other = (ask(net, tool, **where, text="Same here.")[name] for net in (plain, extra))
    assert first == other
    assert ask(plain, tool, **where, text="Same here.")[name] != first
