"""Evidence: generous to what was derived, strict with what was made up."""

import json
from contextlib import suppress
from datetime import date, time
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from asyncguard.core.evidence import EvidenceBook, leaves

TOLD = (
    "Please move the report 'Q3_final.pdf' from /home/anna/drafts to the archive and book flight LH-1234 for "
    "2024-05-17, at most 1,250.50 EUR, seat 12A. Mail anna.smith@example.org; the budget for Zürich is 3000."
)
RESULT = {
    "ids": ["ord_77", "ord_78"],
    "prices": [3, 1.5, -5],
    "rate": 1e-05,
    "note": "Straße gesperrt",
    "n": 40,
}


def book() -> EvidenceBook:
    """Return evidence with a user's text for all tasks, and a compact JSON result for one."""
    evidence = EvidenceBook()
    evidence.add_common(TOLD)
    evidence.add("t1", json.dumps(RESULT, separators=(",", ":"), ensure_ascii=False))
    return evidence


@pytest.mark.parametrize(
    "value",
    [
        "Q3_final.pdf",
        "q3_FINAL.pdf",
        "/home/anna/drafts/Q3_final.pdf",
        "/archive/Q3_final.pdf",
        "LH-1234",
        "LH1234"[:2],
        "2024-05-17",
        "17-05-2024",
        "anna.smith@example.org",
        "  ZÜRICH ",
        "STRASSE",
        "at  most",
        1250.5,
        "1250.5",
        3000,
        3000.0,
        "3000",
        "12A",
        "ord_77",
        ["ord_77", {"price": 1.5}],
        3,
        1.5,
        -5,
        1e-05,
        40,
        "",
        "???",
        True,
        None,
        [],
        "I have kindly taken care of everything that you wanted",
    ],
)
def test_what_was_told_or_follows_from_it(value: Any) -> None:
    """Case, spacing, order of parts, notation of numbers and free prose do not make a value a guess."""
    assert book().ungrounded("t1", value) is None


@pytest.mark.parametrize(
    ("value", "culprit"),
    [
        ("ord_99", "ord_99"),
        ("Q4_final.pdf", "Q4_final.pdf"),
        ("LH-9999", "LH-9999"),
        ("2024-06-17", "2024-06-17"),
        ("bob@example.org", "bob@example.org"),
        (1251, 1251),
        (4.5, 4.5),
        (77.5, 77.5),
        (10**400, 10**400),
        (float("inf"), float("inf")),
        (["ord_77", "ord_99"], "ord_99"),
        ({"to": {"id": "acc_1"}}, "acc_1"),
        ("I have booked the flight LH-9999 for you as you wanted", None),
    ],
)
def test_what_nobody_said(value: Any, culprit: Any) -> None:
    """A value with a part that occurs nowhere is found, also deep inside and in prose that carries digits."""
    assert book().ungrounded("t1", value) == (value if culprit is None else culprit)


def test_another_tasks_result_grounds_nothing() -> None:
    """A task may use what all tasks were told and its own results only."""
    evidence = book()
    assert evidence.ungrounded("t2", "ord_77") == "ord_77"
    assert evidence.ungrounded("t2", "LH-1234") is None
    assert EvidenceBook().ungrounded("t1", "LH-1234") == "LH-1234"


def test_evidence_grows_while_it_is_asked() -> None:
    """Text added after a question counts in the next."""
    evidence = EvidenceBook()
    assert evidence.ungrounded("t1", "ord_5") == "ord_5"
    evidence.add("t1", "The order is ord_5.")
    assert evidence.ungrounded("t1", "ord_5") is None


def test_leaves_are_the_strings_and_numbers() -> None:
    """Names of fields, booleans and nothing need no evidence."""
    assert list(leaves({"a": [1, True, None, "x"], "b": {"c": 2.5}})) == [1, "x", 2.5]


values = st.text(max_size=30) | st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(values, min_size=1, max_size=6))
def test_what_a_result_holds_is_grounded(items: list[Any]) -> None:
    """Every value of a JSON result may be used, however the result was written."""
    for separators in ((",", ":"), (", ", ": ")):
        evidence = EvidenceBook()
        evidence.add("t1", json.dumps({"items": items}, separators=separators, ensure_ascii=False))
        for item in items:
            clean = not isinstance(item, str) or json.dumps(item, ensure_ascii=False) == f'"{item}"'
            if clean:
                assert evidence.ungrounded("t1", item) is None, item


@given(st.lists(values, max_size=5), values)
def test_more_evidence_never_ungrounds(items: list[Any], value: Any) -> None:
    """A value that was grounded stays grounded when evidence is added."""
    evidence = EvidenceBook()
    was = False
    for item in items:
        evidence.add_common(str(item))
        now = evidence.ungrounded("t1", value) is None
        assert now or not was
        was = now


@given(
    st.text(max_size=40),
    st.recursive(values, lambda inner: st.lists(inner, max_size=3), max_leaves=5),
)
def test_any_text_and_any_value_get_an_answer(text: str, value: Any) -> None:
    """The check has no input that it chokes on, and names a leaf of the value."""
    evidence = EvidenceBook()
    evidence.add_common(text)
    found = evidence.ungrounded("t1", value)
    assert found is None or found in list(leaves(value))


PROMPT = "The current time is 2024-05-15 15:00:00 EST. Cancellation is free within 24 hours, for 26 days."


def grounded(told: str, value: Any, *, prompt: str = PROMPT) -> bool:
    """Whether a value is grounded by a prompt for all tasks and a text for one."""
    evidence = EvidenceBook()
    evidence.add_common(prompt)
    evidence.add("t1", told)
    return evidence.ungrounded("t1", value) is None


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("on May 26", "2024-05-26"),
        ("May 26th please", "2024-05-26"),
        ("am 26.5. nach Rom", "2024-05-26"),
        ("26. Mai", "2024-05-26"),
        ("le 26 août", "2024-08-26"),
        ("26-May-2024", "May 26, 2024"),
        ("26/05/24", "2024-05-26"),
        ("5/26/2024", "26.05.2024"),
        ("between May 24 and 26", "2024-05-26"),
        ("the 24th or 25th of May", "2024-05-24"),
        ("now make it the 26th", "2024-05-26"),
        ("tomorrow", "2024-05-16"),
        ("the day after tomorrow", "2024-05-17"),
        ("in two weeks", "2024-05-29"),
        ("3 days ago", "2024-05-12"),
        ("next Friday", "2024-05-24"),
        ("January 5", "2025-01-05"),
        ("May 26", "2024-05-26T00:00:00"),
        ("May 26 at 3pm", "2024-05-26T15:00:00Z"),
        ("2024-05-26T15:00:00+00:00", "May 26"),
        ("at 3 p.m.", "15:00"),
        ("15:30:00", "3:30 pm"),
        ("at noon", "12:00"),
        ("um 15 Uhr", "15:00"),
        ("two bags and one coat", 2),
        ("$1,250", "1250 USD"),
        ("1.250,50 €", 1250.5),
        ("EUR50", "€50"),
        ("12,5 percent", 0.125),
        ("99.9%", 0.999),
        ("it fell by -10%", "10%"),
        ("it moved by -5 EUR", "5 EUR"),
        ("5k", 5000),
        ("24kg", "24 kg"),
        ("24 kilograms", "24kg"),
        ("1 250 000 people", 1250000),
        ("München", "munchen"),
        ('{"city": "Z\\u00fcrich"}', "Zürich"),
        ('{"note": "first\\nHAT001 second"}', "HAT001"),
        ("158 and 141", "158 + 141 + 26"),
        ('[{"city": "Rome", "code": "FCO"}]', "FCO"),
        ("24/7 support", "24/7"),
        ("at 3:30", "15:30"),
    ],
)
def test_a_value_matches_in_its_usual_forms(told: str, value: Any) -> None:
    """Dates, times, numbers, units and currencies in other notations, with parts from the prompt."""
    assert grounded(told, value)


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("24 hours, 26 items", "2024-05-24"),
        ("May 26", "2024-06-26"),
        ("May 26", "2026-05-26"),
        ("May 26, 2024", "2024-05-2"),
        ("26 people, maybe in May", "May 26"),
        ("from May 2024 on, 26 times", "2024-05-26"),
        ("tomorrow", "2024-05-18"),
        ("next Friday", "2024-06-07"),
        ("the 24th", "2024-06-24"),
        ("3pm", "16:00"),
        ("3pm", "2024-05-15T16:00:00"),
        ("30 minutes, 16 people", "16:30"),
        ("€50", "50 USD"),
        ("a discount of 10%", "0.1%"),
        ("pay 10 EUR", "10%"),
        ("pay 10 EUR", "1000%"),
        ("wait 0.1 s", "10%"),
        ("1.250,50 €", 1250.25),
        ("I fly to Rome", "FCO"),
        ("158 and 141", "158 + 141 + 30"),
        ("version 10.20.30", "10.20.31"),
        ("dismay 25 people", "2024-05-25"),
        ("nothing", "23:59"),
        ("12024-05-26 and 5", "2024-05-261"),
        ("order A-123", "A-12"),
    ],
)
def test_a_date_or_amount_counts_as_a_whole(told: str, value: Any) -> None:
    """Its parts elsewhere, another unit and a code that nothing maps do not ground it."""
    assert not grounded(told, value)


def test_without_a_told_day_nothing_is_tomorrow() -> None:
    """The clock is not asked: relative dates need a text that says the present day."""
    for prompt in ("Be kind.", "The flight of 2024-05-15 is late."):
        assert not grounded("tomorrow", "2024-05-16", prompt=prompt)
    for prompt in (
        '{"current_date": "2024-05-15"}',
        "Today is May 15, 2024.",
        "Today's date: 2024-05-15",
    ):
        assert grounded("tomorrow", "2024-05-16", prompt=prompt)


FORMS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%B %d, %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%b %d %Y",
    "%A, %B %d, %Y",
)
days = st.dates(date(1970, 1, 1), date(2068, 12, 31))


@given(days, st.sampled_from(FORMS), st.sampled_from(FORMS))
def test_all_forms_of_a_day_are_one(day: date, told: str, given_as: str) -> None:
    """Whichever form was told, the day is grounded in every other."""
    assert grounded(f"Leave on {day:{told}}, please.", f"{day:{given_as}}", prompt="")


@given(days, days, st.sampled_from(FORMS), st.sampled_from(FORMS))
def test_another_day_is_never_grounded(day: date, other: date, told: str, given_as: str) -> None:
    """A day differs from every other one in any form, unless the forms leave open which is the month."""
    ambiguous = other.month == day.day and other.day == day.month and other.year == day.year
    assume(day != other and not ambiguous)
    assert not grounded(f"Leave on {day:{told}}, please.", f"{other:{given_as}}", prompt="")


@given(st.times())
def test_forms_of_a_time_are_one(moment: time) -> None:
    """A time of 24 hours and the same one of 12 ground each other."""
    forms = (f"{moment:%H:%M}", f"{moment:%I:%M %p}")
    for told, value in (forms, forms[::-1]):
        assert grounded(f"at {told}.", value, prompt="")


@given(st.integers(1000, 10**9), st.integers(0, 99))
def test_forms_of_an_amount_are_one(whole: int, cents: int) -> None:
    """English, continental and Swiss separators and the currency's symbol or code make no difference."""
    plain = f"{whole},{cents:02}"
    grouped = f"{whole:,}"
    forms = [f"${grouped}.{cents:02}", f"{grouped.replace(',', '.')},{cents:02} USD"]
    forms += [f"{grouped.replace(',', chr(39))}.{cents:02} dollars", f"{plain} $"]
    for told in forms:
        assert grounded(f"Pay {told} now", whole + cents / 100, prompt="")
        for value in forms:
            assert grounded(f"Pay {told} now", value, prompt=""), (told, value)


@example(told=[0], value=249_000)
@given(st.lists(st.integers(-(10**6), 10**6), max_size=6), st.integers(13, 10**6))
def test_an_amount_without_a_source_never_passes(told: list[int], value: int) -> None:
    """However many numbers were told, another one is not grounded by them."""
    text = json.dumps({"values": told})
    assume(value not in told and str(value) not in text)
    for form in (value, str(value), f"${value}", f"{value:,}.00"):
        assert not grounded(text, form, prompt="")


@pytest.mark.parametrize("part", ["1-", "100 ", "1 may ", "12:", "1 to ", "$1 ", "1."])
def test_a_long_text_of_numbers_is_read_once(part: str) -> None:
    """No pattern reads on to the end of the text from each number: that would take minutes here."""
    assert not grounded(part * 3_000, "2031-03-03", prompt="")
    assert not grounded("nothing", f"{part * 300} ord_77", prompt="")


def alone(told: str, value: Any) -> bool:
    """Whether a value is grounded by one text."""
    return grounded(told, value, prompt="")


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("Pay $1,250.", "250"),
        ("Pay $1,250.", "$250"),
        ("Pay $1,250.", 250.0),
        ("Pay $1,250.", 1),
        ("Pay $1,250 and $3,900.", "$1,900"),
        ("Pay $1,250,000.", "$250,000"),
        ("Pay 1,250,000 USD.", "250,000 USD"),
        ("Pay 3.50 EUR.", "50 EUR"),
        ("Pay 3,50 EUR.", "50 EUR"),
        ("Pay 12.345,67 EUR", "345"),
        ("Pay 1'250 CHF", "250 CHF"),
        ("Pay 5k", "5 million"),
        ("only 5", "5k"),
        ("$2 million", 2),
        ("2 million euros", "2"),
        ("Pay $2M.", 2),
        ("Pay 20 USD for 5 m.", 5_000_000),
        ("Raise 2k.", 2),
        ("1.5 billion", 1.5),
        ("1.5 billion", "1.5"),
        ("12 thousand of the 3 million", 12),
        ("twenty-one of them", 1),
        ("one hundred and twenty-five euros", 25),
        ("one hundred and twenty-five euros", 100),
        ("two hundred euros", 2),
        ("two hundred and five thousand euros", 5000),
        ("one hundred and two hundred", 102),
        ("between one hundred and two thousand", 102_000),
        ("Weigh 3 kg.", "3 lb"),
        ("two kilos", "2 lb"),
        ("Wait 5 s.", "5 ms"),
        ("5 miles", "5 m"),
        ("Heat to 20 C.", "20 F"),
        ("Heat to 20 °C.", "20°F"),
        ("Send 5 GB.", "5 MB"),
        ("Send 5 GB.", "send 5 MB of it to the archive please"),
        ("€50 and $30", "$50"),
        ("Transfer 100.", "-100"),
        ("Transfer 100.", -100),
        ("Transfer $100.", "-$100"),
        ("Transfer 100 USD.", "-USD 100"),
        ("Range 5-10", "-10"),
        ("Call at 2024-05-26T15:00:00Z.", "2024-05-26T15:00:00+02:00"),
        ("at 15:00Z", "15:00+02:00"),
        ("at 15:00 UTC", "15:00+02:00"),
        ("3 pm GMT on May 26, 2024", "2024-05-26T15:00:00+02:00"),
        ("at 15:00 UTC+2", "15:00Z"),
        ("at 15:00", "15:00-18:00"),
    ],
)
def test_part_of_a_number_and_another_unit_sign_or_zone(told: str, value: Any) -> None:
    """An amount counts as a whole: neither its digits nor its number with another unit is told."""
    assert not alone(told, value)


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("Wait 5 s.", "5"),
        ("Wait 5 s.", 5),
        ("Wait 5.", "5 s"),
        ("Wait 5 s, 5 times", "5 ms"),
        ("[1,250,-3]", 250),
        ("[1,250,-3]", -3),
        ("Balance: \u22125", -5),
        ("158 and 100", "158 -100"),
        ("fee: -$5", -5),
        ("- $5 a day", "$5"),
        ("9" * 5000 + ".1.1 of 5", 5),
        ("seats 12,14", 14),
        ("0,250 kg", 0.25),
        ("1,25,000 rupees", 125000),
        ("5 million dollars", "$5,000,000"),
        ("$2 million", 2_000_000),
        ("$2 million", "2 million USD"),
        ("Pay $2M.", 2_000_000),
        ("Pay EUR 2.5m.", "2,500,000 EUR"),
        ("5 million dollars", "$5M"),
        ("Pay 20 USD, 5 m of it.", "5 m"),
        ("Raise 2k.", 2000),
        ("2 of the 3 million", 2),
        ("2 million, and 2 more", 2),
        ("seat 2 K", 2),
        ("Set 0.5.", ".5"),
        ("at 15:00", "15:00+02:00"),
        ("at 15:00Z", "15:00+00:00"),
        ("at 15:00 UTC", "15:00Z"),
        ("15:00-16:00", "16:00"),
        ("9:00-10:30", ["9:00", "10:30"]),
        ("2024-05-26 09:00-10:00", "2024-05-26T10:00:00"),
        ("at 15:00", "15:00-05:00"),
        ("at 4:00 on 2024-05-26", "2024-05-26T04:00-05:00"),
        ("at 15:00 GMT", "15:00"),
        ("at 15:00", "15:00 UTC"),
        ("at 15:00 UTC+2", "15:00+02:00"),
        ("at 15:00 UTC-3:30", "15:00-03:30"),
        ("twenty-one pills", "21"),
        ("one hundred and twenty-five euros", 125),
        ("a hundred euros", "100 EUR"),
        ("two hundred pills", "200 pills"),
        ("200 pills", "two hundred pills"),
        ("three thousand two hundred and fifty", 3250),
        ("two hundred and fifty thousand euros", 250_000),
        ("nine hundred ninety-nine thousand nine hundred and ninety-nine", 999_999),
        ("two million dollars", "$2,000,000"),
        ("one hundred and two hundred", [100, 200]),
        ("between one hundred and two thousand", [100, 2000]),
        ("21 pills", "twenty-one"),
        ("on 26.5.2024", [26, 5, 2024]),
        ("on 2024-05-26", [26, 5, 2024]),
        ("v1.2.3 at 192.168.1.77", "192.168.1.77:v1.2.3"),
    ],
)
def test_a_number_is_told_with_or_without_its_unit(told: str, value: Any) -> None:
    """A bare number may be of any unit, and lists, dates and sums have numbers of their own."""
    assert alone(told, value)


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("Write to Bob.", "please pay Eve now"),
        ("Deliver to Oslo.", "Paris, France, Europe, Earth"),
        ("Deliver to 5 Elm Street, Oslo.", "5 Elm Street, Bergen"),
        ("Ada is 5.", '{"name": "Eve", "n": 5}'),
        ("Ada is 5.", '{"who": ["Ada", {"n": 6}]}'),
        ("Ada is 5.", "{'name': 'Eve', 'n': 5}"),
        (
            "Write to Bob.",
            "please tell the whole team that the kitchen is closed for repairs until next week thanks",
        ),
    ],
)
def test_invented_running_text(told: str, value: str) -> None:
    """Its names need a source, and of its other words some do; text that holds JSON is read as JSON."""
    assert not alone(told, value)


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("Write to Bob about the flight.", "Please let Bob know about his flight"),
        ("Deliver to 5 Elm Street, Oslo.", "Elm Street 5, in Oslo, please"),
        ("Ada is 5.", '{"name": "Ada", "n": 5}'),
        ("The trip to Oslo was on 2024-05-26.", "Trip to Oslo (Sunday, May 26, 2024)"),
        ("Cancel my flight.", "I have taken care of one of them for you"),
    ],
)
def test_running_text_of_what_was_told(told: str, value: str) -> None:
    """The model may word it: function words, the weekday of a date, and words beside those told."""
    assert alone(told, value)


@pytest.mark.parametrize(
    ("told", "value", "other"),
    [
        ("写信给王伟。", "王伟", "李伟"),
        ("田中さんに送って", "田中", "山田"),
        ("ส่งถึงสมชายวันนี้", "สมชาย", "สมหญิง"),
        ("왕위에게 보내세요", "왕위", "김위"),
        ("सीता को लिखो", "सीता", "गीता"),
        ("2024年5月26日出发", "2024-05-26", "2024-05-27"),
        ("2024년 5월 26일", "May 26, 2024", "2024-06-26"),
        ("3 maart 2024", "2024-03-03", "2024-03-04"),
        ("3 марта 2024", "2024-03-03", "2024-04-03"),
        ("3 de março de 2024", "2024-03-03", "2024-05-03"),
        ("3 marca 2024", "2024-03-03", "2024-05-03"),
        ("2024. március 3.", "2024-03-03", "2024-05-03"),
        ("Today is 2024-05-29. Morgen fliegen", "2024-05-30", "2024-05-31"),
        ("May 2024", "2024-05", "2024-06"),
        ("2024-05", "May 2024", "June 2024"),
        ("um 15h30", "15:30", "15:31"),
        ("20240526T150000Z", "2024-05-26T15:00:00Z", "2024-05-26T16:00:00Z"),
        ("2024-05-26T15:00:00Z", "20240526T150000Z", "20240526T160000Z"),
        ("+49 (30) 123-4567", "+49301234567", "+49301234568"),
        ("0049 30 1234567", "+49 (30) 123 45 67", "+49 (30) 123 45 68"),
        ("(555) 123-4567", "555.123.4567", "555.123.4568"),
    ],
)
def test_other_scripts_months_and_forms(told: str, value: str, other: str) -> None:
    """A value in another usual form passes, and its neighbour in the same form does not."""
    assert alone(told, value)
    assert not alone(told, other)


UNITS = ("USD", "EUR", "kg", "lb", "km", "min", "ms", "GB", "MB", "F", "")


def readings(digits: str) -> set[float]:
    """All numbers that digits with points and commas can mean."""
    found = set()
    for form in (digits, digits.replace(",", ""), digits.replace(",", ".")):
        with suppress(ValueError):
            found.add(float(form))
    return found


@given(st.integers(1000, 10**9), st.integers(1, 99), st.sampled_from(UNITS), st.data())
def test_no_proper_part_of_a_told_number_is_grounded(
    whole: int, cents: int, unit: str, data: st.DataObject
) -> None:
    """Digits that a number begins with, ends with or holds are another number, however it is written."""
    plain = f"{whole}.{cents:02}"
    told = data.draw(st.sampled_from([plain, f"{whole:,}.{cents:02}", f"{whole},{cents:02}"]))
    start = data.draw(st.integers(0, len(told) - 1))
    part = told[start : data.draw(st.integers(start + 1, len(told)))]
    assume(part[0].isdigit() and part[-1].isdigit())
    # A bare "1250,50" may be a list of two; else only the whole, in any notation, is the number.
    listed = {float(whole), float(cents)} if told == f"{whole},{cents:02}" and not unit else set()
    assume(readings(part).isdisjoint({float(plain)} | listed))
    for value in (part, f"{part} {unit}".strip(), f"${part}"):
        assert not alone(f"Pay {told} {unit} now".replace("  ", " "), value), (told, value)


def test_a_sum_with_cents_is_no_telephone_number() -> None:
    """Nine digits before a comma were taken for one, and the sum without its cents was grounded."""
    assert not alone("Pay 100000000,01 USD now", "100000000")
    assert not alone("Pay 123456789,5 EUR now", "123456789")
    assert alone("Call 030123456,030999999,13 times each", "030123456")
    assert alone("Call 030123456, then 030999999.", "030999999")


@given(st.integers(2, 10**6), st.sampled_from(UNITS[:-1]), st.sampled_from(UNITS[:-1]))
def test_another_unit_is_another_amount(number: int, unit: str, other: str) -> None:
    """A number passes with its unit, without one, and with no other."""
    told = f"Send {number:,} {unit} now, not in {other}"
    for value in (number, str(number), f"{number} {unit}", f"{number:,}{unit}"):
        assert alone(told, value)
    assert alone(told, f"{number} {other}") is (unit == other)
