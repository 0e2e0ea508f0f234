"""Units: texts that name the same one, and exact factors between those of one dimension.

A text that is not in the table does not convert. No exchange rates are known, and a symbol that
means different things in different places (gallon, dollar, pound, calorie) is left out. Case counts
in symbols (mW and MW, Gb and GB), and stops counting only where the other spelling means nothing
else.

Own code, not pint: it guesses where a repair must refuse, knows no currencies, and takes 0.3 s to
import.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from types import MappingProxyType

_EXACT = 15
"""Decimal digits that a double holds faithfully."""
_NOISE_FREE = 12
"""Digits of a converted number that are kept; further ones are rounding noise of doubles."""
_MINOR = "minor"
"""Dimension of minor units of an unnamed currency: they fit the currency they are compared with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Unit of a number."""

    name: str
    """Canonical name."""
    dimension: tuple[str, ...]
    """Measured quantity; a quotient has two entries. Each currency is a dimension of its own."""
    factor: Fraction
    """Size in the base unit of the dimension."""
    offset: Fraction = Fraction(0)
    """Value of the base unit at zero of this one (temperatures)."""


_SCALES: Mapping[str, tuple[str, ...]] = {
    "length": (
        "m metre metres meter meters = 1",
        "km kilometre kilometres kilometer kilometers = 1000",
        "cm centimetre centimetres centimeter centimeters = 0.01",
        "mm millimetre millimetres millimeter millimeters = 0.001",
        "µm μm micrometre micrometres = 0.000001",
        "mi mile miles = 1609.344",
        "yd yard yards = 0.9144",
        "ft foot feet = 0.3048",
        "in inch inches = 0.0254",
        "nmi = 1852",
    ),
    "mass": (
        "kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes = 1",
        "g gram grams gramme grammes = 0.001",
        "mg milligram milligrams = 0.000001",
        "µg μg mcg microgram micrograms = 0.000000001",
        "t tonne tonnes = 1000",
        "lb lbs = 0.45359237",
        "oz = 0.028349523125",
    ),
    "time": (
        "s sec secs second seconds = 1",
        "ms millisecond milliseconds = 0.001",
        "µs μs microsecond microseconds = 0.000001",
        "ns nanosecond nanoseconds = 0.000000001",
        "min mins minute minutes = 60",
        "h hr hrs hour hours = 3600",
        "d day days = 86400",
        "week weeks = 604800",
    ),
    "volume": (
        "l L litre litres liter liters = 1",
        "ml mL millilitre millilitres milliliter milliliters = 0.001",
        "cl centilitre centilitres = 0.01",
        "dl dL decilitre decilitres deciliter = 0.1",
        "hl hectolitre hectolitres = 100",
        "m3 m³ m^3 cbm = 1000",
        "cm3 cm³ cm^3 = 0.001",
    ),
    "area": (
        "m2 m² m^2 sqm = 1",
        "km2 km² km^2 = 1000000",
        "cm2 cm² cm^2 = 0.0001",
        "ha hectare hectares = 10000",
    ),
    "energy": (
        "J joule joules = 1",
        "kJ kilojoule kilojoules = 1000",
        "MJ megajoule megajoules = 1000000",
        "GJ gigajoule gigajoules = 1000000000",
        "Wh watt-hour watt-hours = 3600",
        "kWh kilowatt-hour kilowatt-hours = 3600000",
        "MWh megawatt-hour megawatt-hours = 3600000000",
        "GWh gigawatt-hour gigawatt-hours = 3600000000000",
        "TWh = 3600000000000000",
    ),
    "power": (
        "W watt watts = 1",
        "mW milliwatt milliwatts = 0.001",
        "kW kilowatt kilowatts = 1000",
        "MW megawatt megawatts = 1000000",
        "GW gigawatt gigawatts = 1000000000",
    ),
    "pressure": (
        "Pa pascal pascals = 1",
        "hPa mbar millibar = 100",
        "kPa kilopascal kilopascals = 1000",
        "MPa megapascal megapascals = 1000000",
        "bar bars = 100000",
        "atm = 101325",
        "mmHg = 133.322387415",
    ),
    "frequency": (
        "Hz hertz = 1",
        "kHz kilohertz = 1000",
        "MHz megahertz = 1000000",
        "GHz gigahertz = 1000000000",
    ),
    "substance": ("mol = 1", "mmol = 0.001", "µmol μmol umol = 0.000001"),
    "data": (
        "B byte bytes = 1",
        "kB kilobyte kilobytes = 1000",
        "MB megabyte megabytes = 1000000",
        "GB gigabyte gigabytes = 1000000000",
        "KiB = 1024",
        "MiB = 1048576",
        "GiB = 1073741824",
    ),
    "share": (
        "fraction fractions share = 1",
        "percent % pct percentage = 0.01",
        "permille ‰ = 0.001",
        "bps = 0.0001",
        "ppm = 0.000001",
    ),
    "count": ("piece pieces pcs item items each = 1", "dozen dozens = 12"),
}
"""Units by dimension: names, the canonical one first, and the size in the base unit."""

_TEMPERATURES = (
    ("K kelvin kelvins", "1", "0"),
    ("C °C celsius degC deg_c", "1", "273.15"),
    ("F °F fahrenheit degF deg_f", "5/9", "45967/180"),
)

_CURRENCIES: Mapping[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "EUR": (2, ("€", "euro", "euros"), ("eurocent", "eurocents")),
    "USD": (2, ("US$",), ()),
    "GBP": (2, ("£", "sterling"), ("pence", "penny", "GBX")),
    "CHF": (2, ("francs",), ("rappen",)),
    "JPY": (0, ("yen",), ()),
    "CNY": (2, ("yuan", "renminbi"), ("fen",)),
    "AUD": (2, (), ()),
    "CAD": (2, (), ()),
    "NZD": (2, (), ()),
    "SGD": (2, (), ()),
    "SEK": (2, (), ()),
    "NOK": (2, (), ()),
    "DKK": (2, (), ()),
    "PLN": (2, ("zloty",), ("grosz", "groszy")),
    "CZK": (2, (), ()),
    "HUF": (2, ("forint",), ()),
    "INR": (2, ("₹", "rupees"), ("paise", "paisa")),
    "KRW": (0, ("₩",), ()),
    "KWD": (3, (), ()),
    "BRL": (2, (), ()),
    "MXN": (2, (), ()),
    "ZAR": (2, (), ()),
}
"""ISO code to digits of the minor unit, other names, and names of the minor unit.

``$`` and ``¥`` are left out because several currencies use them.
"""
_CENT = frozenset({"EUR", "USD", "AUD", "CAD", "NZD", "SGD", "ZAR"})
_WORDS_PER = re.compile(r"\s*/\s*|\s+per\s+|_per_")


def _measured() -> Iterator[tuple[str, Unit]]:
    for dimension, lines in _SCALES.items():
        for line in lines:
            names, _, size = line.partition(" = ")
            spelled = names.split()
            for name in spelled:
                yield name, Unit(name=spelled[0], dimension=(dimension,), factor=Fraction(size))
    for names, size, offset in _TEMPERATURES:
        for name in names.split():
            unit = Unit(
                name=names.split()[0],
                dimension=("temperature",),
                factor=Fraction(size),
                offset=Fraction(offset),
            )
            yield name, unit


def _money() -> Iterator[tuple[str, Unit]]:
    for name in ("cent", "cents", "minor", "minor unit", "minor units", "minor_units"):
        yield (
            name,
            Unit(
                name="cent" if name.startswith("cent") else "minor",
                dimension=(_MINOR,),
                factor=Fraction(1),
            ),
        )
    for code, (digits, names, minors) in _CURRENCIES.items():
        small = Fraction(1, 10**digits)
        for name in (code, *names):
            yield name, Unit(name=code, dimension=(code,), factor=Fraction(1))
        cents = (
            (f"{code} cent", f"{code} cents", f"{code}_cents", f"{code} ct")
            if code in _CENT
            else ()
        )
        for name in (*minors, *cents, f"{code} minor", f"{code}_minor"):
            yield name, Unit(name=f"{code} minor", dimension=(code,), factor=small)
        for name, size in (
            (f"k{code}", 10**3),
            (f"thousand {code}", 10**3),
            (f"million {code}", 10**6),
        ):
            yield name, Unit(name=name, dimension=(code,), factor=Fraction(size))


_UNITS: Mapping[str, Unit] = MappingProxyType({**dict(_measured()), **dict(_money())})


def _without_case() -> dict[str, tuple[Unit, tuple[str, ...]]]:
    spelled: dict[str, dict[str, Unit]] = {}
    for name, unit in _UNITS.items():
        spelled.setdefault(name.casefold(), {})[name] = unit
    return {
        folded: (next(iter(names.values())), tuple(names))
        for folded, names in spelled.items()
        # A name that fits two units in another case means neither.
        if len(set(names.values())) == 1
    }


_FOLDED: Mapping[str, tuple[Unit, tuple[str, ...]]] = MappingProxyType(_without_case())
_LONGEST_SYMBOL = 4
_WORDS_WITH_M = frozenset({"min", "mins", "mi", "mile", "mcg"})
_WORD = re.compile(r"[A-Za-z€£₹₩%‰°µμ][A-Za-z€£₹₩%‰°µμ²³0-9]*(?:/[A-Za-z]+[²³0-9]*)?")
_SHORTEST_WORD = 3
_SHORT_SYMBOLS = frozenset({"kg", "km", "cm", "mm", "mg", "ml", "°C", "°F"})
"""Symbols shorter than that which are not words of a sentence."""


def alike(one: str, other: str) -> bool:
    """Return True if two names that differ in case alone are one.

    Milli is not mega (mV, MV), and a bit is not a byte (Gb, GB). In a symbol all in one case
    (``mhz``, ``KB``), case says nothing about the prefix.
    """
    if one == other or len(one) > _LONGEST_SYMBOL or one.casefold() in _WORDS_WITH_M:
        return True
    if one[1:] == other[1:] and one[:1] in "mM":
        return False
    return one[:-1] != other[:-1] or one[-1:] not in "bB" or one.islower() or other.islower()


def unit_named(text: str) -> Unit | None:
    """Return the unit that a text names, ``None`` if it is not known.

    A quotient such as ``km/h`` or ``EUR per kWh`` is a unit if its parts are.
    """
    # Abbreviations are written with a full stop (``min.``).
    text = text.strip().rstrip(".")
    if found := _UNITS.get(text):
        return found
    unit, names = _FOLDED.get(text.casefold(), (None, ()))
    if unit is not None and all(alike(text, name) for name in names):
        return unit
    parts = _WORDS_PER.split(text)
    if len(parts) != 2:
        return None
    above, below = unit_named(parts[0]), unit_named(parts[1])
    # A unit with a zero of its own has no rate: °C/h is about differences of temperature.
    if above is None or below is None or above.offset or below.offset:
        return None
    return Unit(
        name=f"{above.name}/{below.name}",
        dimension=(*above.dimension, *below.dimension),
        factor=above.factor / below.factor,
    )


def units_in(prose: str) -> frozenset[Unit]:
    """Return the units that a sentence names by words or by symbols of some length.

    Short symbols are also words ("a", "h", "in"), so only unmistakable ones count.
    """
    found = set()
    for word in _WORD.findall(prose):
        ends_in_capital = word[-1] != word[-1].lower()
        if len(word) >= _SHORTEST_WORD or word in "€£₹₩%‰" or ends_in_capital:
            unit = unit_named(word)
        else:
            unit = _UNITS.get(word) if word in _SHORT_SYMBOLS else None
        if unit is not None:
            found.add(unit)
    return frozenset(found)


def comparable(first: Unit, second: Unit) -> bool:
    """Return True if one unit can be converted into the other."""
    return _fixed(first, second).dimension == _fixed(second, first).dimension


def kindred(first: Unit, second: Unit) -> bool:
    """Return True if one unit could stand in place of the other.

    Both measure the same, or both are money.
    """
    return comparable(first, second) or (is_money(first) and is_money(second))


def is_money(unit: Unit) -> bool:
    """Return True if a unit is one of a currency, or a price in one."""
    return unit.dimension[0] == _MINOR or unit.dimension[0] in _CURRENCIES


def equal(first: Unit, second: Unit) -> bool:
    """Return True if a number means the same in both units."""
    one, other = _fixed(first, second), _fixed(second, first)
    return (one.dimension, one.factor, one.offset) == (other.dimension, other.factor, other.offset)


def convert(value: int | float, source: Unit, target: Unit) -> int | float | None:
    """Return a number in another unit: exact, but for digits that a double cannot hold.

    Returns:
        ``None`` if the units measure different things, or the value is infinite or not a number;
        integers stay integers where the result is one.
    """
    source, target = _fixed(source, target), _fixed(target, source)
    # JSON of some services has Infinity and NaN, and 1e400 is read as infinite.
    if source.dimension != target.dimension or not _is_finite(value):
        return None
    # The shortest decimal of the float is what the tool wrote; its binary value has further digits.
    exact = Fraction(Decimal(repr(value)))
    result = (exact * source.factor + source.offset - target.offset) / target.factor
    # An integer stays one; beyond the exact digits of a double only an integer keeps the value.
    if result.denominator == 1 and (isinstance(value, int) or abs(result) >= 10**_EXACT):
        return result.numerator
    above, below = Decimal(result.numerator), Decimal(result.denominator)
    quotient = Context(prec=_EXACT).divide(above, below)
    if Fraction(quotient) != result:
        quotient = Context(prec=_NOISE_FREE).divide(above, below)
    return float(quotient)


def _is_finite(value: int | float) -> bool:
    # An integer may be too large for `math.isfinite`.
    return isinstance(value, int) or math.isfinite(value)


def _fixed(unit: Unit, other: Unit) -> Unit:
    """Return minor units of an unnamed currency as those of the other unit's currency."""
    money = other.dimension[0]
    if unit.dimension[0] != _MINOR or money not in _CURRENCIES:
        return unit
    # A currency without cents (yen): the cents are those of another one.
    if unit.name.startswith("cent") and money not in _CENT:
        return unit
    factor = unit.factor / 10 ** _CURRENCIES[money][0]
    return replace(unit, dimension=(money, *unit.dimension[1:]), factor=factor)
