import csv
import io
import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard_benchmark.services.data_format import TOOLSET
from asyncguard_benchmark.services.service import Executor

CONVERTER = Executor(TOOLSET.tools, {})
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=8)


def ask(name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(CONVERTER.call(name, values))


def test_a_table_is_read_with_its_first_row_as_columns() -> None:
    """Rows must be as wide as the first; empty cells stay."""
    assert ask("parse_table", text="a;b / 1; / 3;4", row_mark="/", cell_mark=";") == {
        "columns": ["a", "b"],
        "rows": [["1", ""], ["3", "4"]],
        "row_count": 2,
    }
    assert "2 cells" in ask("parse_table", text="a;b/1", row_mark="/", cell_mark=";")["error"]


@given(
    st.lists(CELLS, min_size=2, max_size=2),
    st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1),
)
def test_csv_is_what_csv_readers_read(columns: list[str], rows: list[list[str]]) -> None:
    """Any text in a cell survives the standard CSV reader."""
    written = ask("write_table", columns=columns, rows=rows[:20], notation="csv")["text"]
    assert list(csv.reader(io.StringIO(written))) == [columns, *rows[:20]]


def test_tables_in_other_notations() -> None:
    """Marks of the notation are escaped in cells."""

    def written(notation: str) -> Any:
        return ask("write_table", columns=["a", "b|c"], rows=[["<1>", "2"]], notation=notation)[
            "text"
        ]

    assert written("markdown") == "| a | b\\|c |\n| --- | --- |\n| <1> | 2 |"
    assert (
        written("html")
        == "<table><tr><th>a</th><th>b|c</th></tr><tr><td>&lt;1&gt;</td><td>2</td></tr></table>"
    )
    assert written("tsv") == "a\tb|c\n<1>\t2"
    assert (
        "2 cells" in ask("write_table", columns=["a", "b"], rows=[["1"]], notation="csv")["error"]
    )


def test_pairs_are_written_in_alphabetical_order() -> None:
    """So that the text does not depend on how an agent orders an object."""
    read = ask("parse_pairs", text="b=2; a = 1=1", pair_mark=";", value_mark="=")
    assert read == {"pairs": {"b": "2", "a": "1=1"}, "names": ["b", "a"], "values": ["2", "1=1"]}
    for pairs in ({"b": 2, "a": "x"}, {"a": "x", "b": 2.0}):
        written = ask("write_pairs", pairs=pairs, pair_mark="&", value_mark="=")
        assert written == {"text": "a=x&b=2", "pair_count": 2}
    for broken in ("a=1;b", "a=1;a=2", ""):
        assert "error" in ask("parse_pairs", text=broken, pair_mark=";", value_mark="=")


def test_json() -> None:
    """Numbers that JSON does not know, and texts without end, are refused; 1E3 is 1000."""
    assert ask("parse_json", text='{"b": 1E3, "a": [1.50]}') == {
        "value": {"b": 1000, "a": [1.5]},
        "names": ["a", "b"],
    }
    assert ask("parse_json", text="[1]") == {"value": [1], "names": []}
    for broken in ("{'a': 1}", "NaN", "1e999", "[" * 3000):
        assert "no JSON" in ask("parse_json", text=broken)["error"]
    assert (
        ask("write_json", content={"b": "ä", "a": 1}, layout="compact")["text"] == '{"a":1,"b":"ä"}'
    )
    assert ask("write_json", content={"a": 1}, layout="indented")["text"] == '{\n  "a": 1\n}'


def test_xml() -> None:
    """Children are read one level deep, and nothing that could expand is read at all."""
    assert ask("parse_xml", text='<a x="1"> t <b>u<c/></b></a>') == {
        "tag": "a",
        "attributes": {"x": "1"},
        "text": "t",
        "children": [{"tag": "b", "attributes": {}, "text": "u"}],
    }
    for broken in ("<a>", "plain", '<!DOCTYPE a [<!ENTITY e "e">]><a>&e;</a>', "<a>&e;</a>"):
        assert "error" in ask("parse_xml", text=broken)
    assert ask("write_xml", tag="t", attributes={"b": 'q"', "a": 2}, content="<&")["text"] == (
        '<t a="2" b=\'q"\'>&lt;&amp;</t>'
    )
    assert ask("write_xml", tag="t") == {"text": "<t/>", "characters": 4}


def test_urls() -> None:
    """Parameters are decoded, the path is not."""
    assert ask("read_url", text="https://h.example:8443/a%20b/c%2Fd?x=1+2&y=%2B&z=#f") == {
        "scheme": "https",
        "host": "h.example",
        "port": 8443,
        "path": "/a%20b/c%2Fd",
        "last_name": "c%2Fd",
        "parameters": {"x": "1 2", "y": "+", "z": ""},
        "fragment": "f",
    }
    for broken in ("example.org/x", "https://h:99999999/", "https://h/?a=1&a=2", "http://[::1"):
        assert "error" in ask("read_url", text=broken)


@pytest.mark.parametrize(
    ("text", "order", "iso"),
    [
        ("04/09/2027", "MDY", "2027-04-09"),
        ("04/09/2027", "DMY", "2027-09-04"),
        ("7.6.26", "DMY", "2026-06-07"),
        ("2028 2 29", "YMD", "2028-02-29"),
    ],
)
def test_the_order_decides_what_a_date_says(text: str, order: str, iso: str) -> None:
    """The same digits are different days."""
    found = ask("read_date", text=text, order=order)
    day = date.fromisoformat(iso)
    assert (found["iso"], found["weekday"]) == (iso, f"{day:%A}")
    assert (found["month"], found["day_of_year"]) == (f"{day:%B}", int(f"{day:%j}"))


def test_dates() -> None:
    """Each style, also at the turn of a week year; days that do not exist are refused."""

    def written(style: str) -> Any:
        return ask("write_date", date="2027-01-03", style=style)["text"]

    styles = [written(style) for style in ("long", "American", "German", "compact", "week")]
    assert styles == ["3 January 2027", "January 3, 2027", "03.01.2027", "20270103", "2026-W53-7"]
    for broken in ("2027-02-29", "2027-1-3", "20270103"):
        assert "error" in ask("write_date", date=broken, style="long")
    for broken in ("31/02/2026", "12/2026", "1/2/3/4"):
        assert "error" in ask("read_date", text=broken, order="DMY")


@given(st.integers(0, 4_102_444_800))
def test_unix_times_are_utc(seconds: int) -> None:
    """Unix times do not depend on the machine's time zone."""
    found = ask("read_epoch", seconds=seconds)
    moment = datetime.fromisoformat(f"{found['date']}T{found['time']}").replace(tzinfo=UTC)
    assert moment.timestamp() == seconds
    assert found["weekday"] == f"{moment:%A}"


def test_durations() -> None:
    """Hours are not cut at a day."""
    assert ask("write_duration", seconds=90_061, style="clock") == {
        "text": "25:01:01",
        "hours": 25,
        "minutes": 1,
        "seconds": 1,
    }
    assert ask("write_duration", seconds=59, style="ISO")["text"] == "PT0H0M59S"
    assert ask("write_duration", seconds=3600, style="words")["text"] == "1 h 0 min 0 s"


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("1.234,50", "comma", 1234.5),
        ("1.234,50", "point", None),
        ("1,234.50", "point", 1234.5),
        ("86'461", "point", 86461),
        ("1 204,75", "comma", 1204.75),
        ("-0,5", "comma", -0.5),
        ("1.234", "comma", 1234),
        ("1.234", "point", 1.234),
        ("5,", "comma", None),
        (",5", "comma", None),
        ("12 km", "comma", None),
        ("٣", "comma", None),
    ],
)
def test_the_decimal_mark_decides_what_a_number_says(
    text: str, mark: str, value: float | None
) -> None:
    """The other mark only parts thousands."""
    found = ask("read_number", text=text, decimal_mark=mark)
    assert found.get("value") == value
    assert ("error" in found) == (value is None)


def test_numbers() -> None:
    """Halves are rounded as decimals, away from zero, and decimals are always shown."""

    def written(value: float, decimals: int, grouping: str) -> Any:
        return ask("write_number", value=value, decimals=decimals, grouping=grouping)["text"]

    assert written(1234567.895, 2, "comma") == "1,234,567.90"
    assert written(-2.675, 2, "point") == "-2,68"
    assert written(1234.5, 0, "apostrophe") == "1'235"
    assert written(10**15, 1, "space") == "1 000 000 000 000 000.0"


@pytest.mark.parametrize(
    ("text", "country", "international", "national"),
    [
        ("030 / 7741-208", "Germany", "+49307741208", "0307741208"),
        ("+49 (0)30 7741208", "Germany", "+49307741208", "0307741208"),
        ("0049 30 7741208", "Germany", "+49307741208", "0307741208"),
        ("22 41 90 03", "Norway", "+4722419003", "22419003"),
    ],
)
def test_phone_numbers(text: str, country: str, international: str, national: str) -> None:
    """A phone number is read in any spelling."""
    found = ask("read_phone", text=text, country=country)
    assert (found["international"], found["national"]) == (international, national)


def test_a_number_of_another_country_is_refused() -> None:
    """A number of another country, or one with too few digits, is refused."""
    assert (
        "dial code is 49" in ask("read_phone", text="+43 664 3182207", country="Germany")["error"]
    )
    assert "3 digits" in ask("read_phone", text="0112", country="Germany")["error"]


@given(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
    st.sampled_from(["base64", "hex", "percent"]),
)
def test_what_is_encoded_comes_back(text: str, scheme: str) -> None:
    """Decoding is the inverse of encoding."""
    written = ask("encode_text", text=text, scheme=scheme)["text"]
    assert ask("decode_text", text=written, scheme=scheme)["text"] == text
    assert written.isascii()


@pytest.mark.parametrize(
    ("text", "scheme"), [("a===", "base64"), ("abc", "hex"), ("/w==", "base64"), ("%ff", "percent")]
)
def test_what_is_not_encoded_is_refused(text: str, scheme: str) -> None:
    """Text in another scheme is refused, and so are bytes that are not text."""
    assert "not written" in ask("decode_text", text=text, scheme=scheme)["error"]
