"""Threads that an earlier release stored are continued: nothing is lost, and no effect happens that must not."""

from pathlib import Path

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import UnknownTokenError, acontinue_older, continue_older
from tests.stored_state.agents import CASES, FRONT_ENDS, THREAD, TOKEN, agent, cases_of
from tests.stored_state.dumps import SCHEMA
from tests.stored_state.stores import ON_SERVER, RELEASE, Open, Opened

IN_FORMER_HOOKS = {"parked", "parked_pure", "said"}
"""Cases of the middleware that stand in a hook which the guard has no more."""
ANOTHER = {"messages": [("user", "Now another one: order 18.")]}
YES: Command[bool] = Command(resume=True)


def test_every_case_is_stored() -> None:
    """Each adapter and state has an archive and a dump, so that no test passes for want of one."""
    wanted = {f"{front}-{case}" for front in FRONT_ENDS for case in cases_of(front)}
    assert {each.name.removesuffix(".tar.gz") for each in RELEASE.glob("*-*.tar.gz")} == wanted
    assert {each.stem for each in ON_SERVER.glob("*.sql")} == wanted | {SCHEMA.removesuffix(".sql")}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", cases_of("middleware"))
async def test_only_a_thread_in_a_former_hook_is_moved_and_once(opened: Open, case: str) -> None:
    """It would continue with nothing; all others keep their next node, and so does a moved one."""
    thread = opened("middleware", case)
    effects = len(thread.effects)
    async with thread.saver() as saver:
        made = agent("middleware", case, thread.folder, saver, die=False)
        before = (await made.aget_state(THREAD)).next
        moved = await acontinue_older(made, THREAD)
        after = (await made.aget_state(THREAD)).next
        assert moved == (case in IN_FORMER_HOOKS)
        assert (before, after) == ((), ("model",)) if moved else before == after
        assert not await acontinue_older(made, THREAD)
    assert len(thread.effects) == effects


def test_a_thread_that_no_older_release_stored_is_not_moved(tmp_path: Path) -> None:
    """Neither one without a checkpoint nor one that has ended, by the sync entry."""
    made = agent("middleware", "pure", tmp_path, InMemorySaver(), die=False)
    assert not continue_older(made, THREAD)
    made.invoke({"messages": [("user", "Hello: order 1.")]}, THREAD)
    assert not continue_older(made, THREAD)


@pytest.mark.parametrize("front", FRONT_ENDS)
class TestCallsAtRest:
    """The run had ended."""

    async def test_a_parked_call_takes_its_delivery(self, opened: Open, front: str) -> None:
        """The token that the old release gave is still good."""
        thread = opened(front, "parked")

        def deliver() -> Command[str]:
            thread.deliver("certified as no. 815")
            return Command(resume="look again")

        assert "certified as no. 815" in await thread.run(deliver)
        assert thread.effects == []

    async def test_a_parked_call_without_an_effect_is_made_again(
        self, opened: Open, front: str
    ) -> None:
        """The old release did not write it down: its token is refused by name, and a new one is given out."""
        thread = opened(front, "parked_pure")
        with pytest.raises(
            UnknownTokenError, match="deliver with the token that the tool received"
        ):
            thread.deliver("a copy")
        (thread.folder / TOKEN).unlink()

        def deliver() -> Command[str]:
            thread.deliver("a copy")
            return Command(resume="look again")

        assert "a copy" in await thread.run(Command(resume="look again"), deliver)

    async def test_a_held_call_is_approved(self, opened: Open, front: str) -> None:
        """The question that was out is answered, and the call runs once."""
        thread = opened(front, "held")
        assert "approve_payment did order 17" in await thread.run(YES)
        assert len(thread.effects) == 1

    async def test_a_held_call_is_declined(self, opened: Open, front: str) -> None:
        """The answer no is heeded, too."""
        thread = opened(front, "held")
        assert "approve_payment did" not in await thread.run(Command(resume=False))
        assert thread.effects == []

    async def test_a_call_in_doubt_stays_in_doubt(self, opened: Open, front: str) -> None:
        """The thread continues with other work, and the doubtful call is not made again."""
        thread = opened(front, "doubtful")
        await thread.run(ANOTHER)
        assert [each.split()[1] for each in thread.effects] == ["17", "18"]


@pytest.mark.parametrize("front", FRONT_ENDS)
class TestCallsThatWereRunning:
    """The process died in the call, after its effect."""

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("case", ["pure", "idempotent", "keyed", "approved", "waiting_keyed"])
    async def test_a_repeatable_call_is_made_again(
        self, opened: Open, front: str, case: str
    ) -> None:
        """The second attempt has the first one's key, and no person is asked again."""
        thread = opened(front, case)
        assert f"{CASES[case]} did order 17" in await thread.run(None)
        assert len(thread.effects) == 2
        assert len(set(thread.effects)) == 1

    @pytest.mark.parametrize("case", ["probed", "waiting_probed"])
    async def test_a_probed_call_is_asked_about(self, opened: Open, front: str, case: str) -> None:
        """The probe finds the effect."""
        thread = opened(front, case)
        assert "a probe found order 17" in await thread.run(None)
        assert len(thread.effects) == 1

    async def test_a_call_that_may_not_be_repeated_is_in_doubt(
        self, opened: Open, front: str
    ) -> None:
        """The call is in doubt, as no probe can be asked."""
        thread = opened(front, "once")
        assert "not known whether pay_once#1 took effect" in await thread.run(None)
        assert len(thread.effects) == 1

    async def test_a_call_that_waited_for_another_runs_after_it(
        self, opened: Open, front: str
    ) -> None:
        """The first is made again under its key; the second, which had not begun, once."""
        thread = opened(front, "deferred")
        text = await thread.run(None)
        assert "pay_in_turn did order 17b" in text
        assert [each.split()[1] for each in thread.effects] == ["17", "17", "17b"]
        assert len(set(thread.effects)) == 2

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(
        "case", [case for case in CASES if case not in ("parked", "parked_pure", "held")]
    )
    async def test_a_new_message_repeats_nothing(self, opened: Open, front: str, case: str) -> None:
        """The user says something else instead of letting the thread continue: no effect happens that must not."""
        if case not in cases_of(front):
            pytest.skip("the graph has no such state")
        thread = opened(front, case)
        before = thread.effects
        await thread.run(ANOTHER, *[YES] * (case == "approved"))
        again = [each for each in thread.effects[len(before) :] if each.split()[1] == "17"]
        assert again in ([], before), "what is repeated has its key"
        if case in ("probed", "waiting_probed", "once", "probing", "falling_back_once", "doubtful"):
            assert again == []


@pytest.mark.parametrize("front", FRONT_ENDS)
class TestCallsThatHadNotBegun:
    """The process died between the model's message and the call."""

    @pytest.mark.parametrize("case", ["said", "queued"])
    async def test_a_call_that_had_not_begun_is_made_once(
        self, opened: Open, front: str, case: str
    ) -> None:
        """A call that had not begun is made once, whether it had been admitted or not."""
        if case not in cases_of(front):
            pytest.skip("the graph has no such state")
        thread = opened(front, case)
        assert "pay_once did order 17" in await thread.run(None)
        assert len(thread.effects) == 1


@pytest.mark.parametrize("front", FRONT_ENDS)
class TestRecoveries:
    """The process died while something was done about a call that had failed."""

    @pytest.mark.sampled(2)
    async def test_a_call_in_its_back_off_is_retried(self, opened: Open, front: str) -> None:
        """The attempt that was refused is not made again: the next one is."""
        thread = opened(front, "back_off")
        assert "pay_flaky did order 17" in await thread.run(None)
        assert len(thread.effects) == 1

    async def test_a_probe_that_was_asked_is_asked_again(self, opened: Open, front: str) -> None:
        """The effect had happened, and the probe tells so."""
        thread = opened(front, "probing")
        assert "a probe found order 17" in await thread.run(None)
        assert len(thread.effects) == 1

    async def test_a_probe_that_finds_nothing_lets_the_call_be_made(
        self, opened: Open, front: str
    ) -> None:
        """The effect had not happened."""
        thread = opened(front, "probing_in_vain")
        assert "remit did order 17" in await thread.run(None)
        assert len(thread.effects) == 1

    async def test_a_contract_that_was_read_is_read_again(self, opened: Open, front: str) -> None:
        """The call was refused for its arguments: it has failed, and is in doubt where that was not written down."""
        thread = opened(front, "reading_contract")
        written_down = thread.ends == {"Failure"}  # one process died before
        text = await thread.run(None)
        assert "unknown field: order" in text
        assert ("not known whether" in text) != written_down

    async def test_other_sources_are_asked_again(self, opened: Open, front: str) -> None:
        """Two of them agree, and outvote the strange answer."""
        text = await opened(front, "cross_checking").run(None)
        assert '"rate": 17}' in text or '"rate":17}' in text

    async def test_a_sibling_that_answers_instead_is_asked_again(
        self, opened: Open, front: str
    ) -> None:
        """It only looks."""
        assert "order 17 is in the copy" in await opened(front, "falling_back").run(None)

    async def test_a_sibling_that_may_not_be_repeated_is_in_doubt(
        self, opened: Open, front: str
    ) -> None:
        """Its effect had happened; neither it nor the tool that was called runs again."""
        thread = opened(front, "falling_back_once")
        assert "not known whether pay_here#1 took effect" in await thread.run(None)
        assert thread.effects == ["pay_elsewhere 17 "]


def grow_old(thread: Opened, seconds: float) -> None:
    """Set all times of a journal back, as if its thread had not been looked at for long."""
    with psycopg.connect(thread.url, autocommit=True) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = 'asyncguard' AND data_type = 'double precision'"
        ).fetchall()
        assert columns
        for table, column in columns:
            connection.execute(
                f"UPDATE asyncguard.{table} SET {column} = {column} - {seconds}".encode()
            )
        connection.execute("DELETE FROM asyncguard.meta WHERE name = 'pruned_at'")


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["postgres"], indirect=True)
@pytest.mark.parametrize("front", FRONT_ENDS)
@pytest.mark.parametrize("case", ["held", "once", "keyed", "queued", "probing", "back_off"])
async def test_a_thread_that_waited_for_a_year_has_the_same_fate(
    opened: Open, front: str, case: str
) -> None:
    """The journal prunes what has ended long ago; what a stored thread needs is not among it."""
    thread = opened(front, case)
    grow_old(thread, 400 * 86_400.0)
    text = await thread.run(YES if case == "held" else None)
    doubt = "not known whether pay_once#1 took effect"
    found = {"once": doubt, "probing": "a probe found order 17"}.get(
        case, f"{CASES[case]} did order 17"
    )
    assert found in text
    assert len(thread.effects) == (2 if case == "keyed" else 1)
