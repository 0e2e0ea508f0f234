"""The travel desk with another model than the simulated one, chosen by environment variable."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.graphs.desk import check_next_request, effects_in, load_desk
from tests.support.openai_server import Call, OpenAIServer, Reply, scripted

pytestmark = pytest.mark.server


def test_a_provider_s_model_works_at_the_same_desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real client speaks OpenAI's wire format to a server on this machine; nothing else was changed."""
    answers = [
        Reply(calls=(Call.of("search_flights", destination="Lisbon", date="2026-05-04"),)),
        Reply(
            calls=(Call.of("book_flight", offer="LIS-838-STD", date="2026-05-04", traveller="Ada"),)
        ),
        Reply(text="Booked LIS-838 for Ada."),
    ]
    with OpenAIServer(scripted(answers)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("ASYNCGUARD_MODEL", "openai:gpt-4.1")
        monkeypatch.setenv("ASYNCGUARD_DESK_EFFECTS", str(tmp_path / "effects.jsonl"))

        async def run() -> dict[str, Any]:
            given = {
                "messages": [("user", "Book the cheapest flight to Lisbon on 2026-05-04 for Ada")]
            }
            state: dict[str, Any] = await load_desk().guarded_agent.ainvoke(given)
            return state

        state = asyncio.run(run())
    assert server.refusals == server.errors == ()
    assert state["messages"][-1].text == "Booked LIS-838 for Ada."
    assert [entry["offer"] for entry in effects_in(tmp_path / "effects.jsonl")] == ["LIS-838-STD"]
    check_next_request(state["messages"])
