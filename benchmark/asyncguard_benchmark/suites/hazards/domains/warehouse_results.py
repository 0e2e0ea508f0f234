"""JSON schemas of the results of the warehouse's tools."""

from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
    tally,
)

_ZONES = ("ambient", "chilled", "frozen", "secured", "outdoor")
_ZONE_NAMES = {
    "room temperature": "ambient",
    "cold store": "chilled",
    "deep freeze": "frozen",
    "cage": "secured",
}
TRANSPORTS = ("parcel", "pallet", "courier", "tanker", "collection")
"""Ways to ship."""
_TRANSPORT_NAMES = {
    "parcel post": "parcel",
    "palletised freight": "pallet",
    "express": "courier",
    "pick-up": "collection",
}


_SKU = code("Number of the article.", "SKU-[0-9]{4}", ("article", "item_no"))
_ORDER_ID = code("Number of the order.", "ORD-[0-9]{5}", ("order_no", "reference"))
_TRANSPORT = one_of("How it is shipped.", TRANSPORTS, _TRANSPORT_NAMES)
STOCK_RESULT = record(
    sku=_SKU,
    zone=one_of("Part of the warehouse.", _ZONES, _ZONE_NAMES),
    bins=several(
        "Where the pieces lie.",
        record(
            bin=code("Number of the bin.", "[A-Z][0-9]{2}"),
            pieces=tally("Pieces in it.", 0, 8_000, unit="piece"),
        ),
    ),
    on_hand=tally(
        "Pieces in all bins.", 50, 8_000, unit="piece", aliases=("quantity_on_hand", "stock")
    ),
    counted_on=day("Day of the last count.", ("last_count", "as_of")),
)
"""The stock of an article."""
ORDER_RESULT = record(
    order_id=_ORDER_ID,
    sku=_SKU,
    piece_kg=quantity("Weight of one piece.", 0.05, 40, unit="kg", aliases=("unit_weight",)),
    transport=_TRANSPORT,
    ship_by=day("Last day to ship.", ("dispatch_by", "ship_date")),
    pieces=tally("Pieces ordered.", 5, 5_000, unit="piece", aliases=("quantity", "qty")),
    weight_kg=quantity(
        "Weight of all pieces.", 5, 5_000, unit="kg", aliases=("gross_weight", "total_weight_kg")
    ),
)
"""An order of one article."""
COMPARED = record(
    wanted=tally("Pieces wanted.", 1, 10_000, unit="piece"),
    available=tally("Pieces there.", 0, 10_000, unit="piece"),
    balance=tally(
        "Pieces left over, below zero if some are missing.", -10_000, 10_000, unit="piece"
    ),
    verdict=one_of(
        "Whether there are enough.",
        ("enough", "even", "short"),
        {"sufficient": "enough", "exact": "even"},
    ),
)
"""Comparison of the stock with the number that is wanted."""
WEIGHED = record(
    weights=several("What was added.", quantity("A weight.", 5, 5_000, unit="kg")),
    total_kg=quantity("Their sum.", 5, 20_000, unit="kg", aliases=("sum_kg", "gross_kg")),
)
"""A sum of weights."""
RESERVATION_RESULT = record(
    reservation_id=code("Number of the reservation.", "RSV-[0-9]{5}", ("reservation_ref",)),
    sku=_SKU,
    pieces=tally("Pieces set aside.", 5, 8_000, unit="piece", aliases=("quantity",)),
    order_id=_ORDER_ID,
    held_until=day("Day until which they are kept.", ("expires_on",)),
)
"""Pieces that were set aside."""
PICKUP_RESULT = record(
    booking_id=code("Number of the booking.", "PUP-[0-9]{5}", ("booking_ref",)),
    order_id=_ORDER_ID,
    transport=_TRANSPORT,
    weight_kg=quantity("Weight that was booked.", 5, 20_000, unit="kg", aliases=("booked_kg",)),
    pickup_on=day("Day of the pick-up.", ("collected_on",)),
)
"""A vehicle that was booked."""
RECOUNT_RESULT = record(
    ticket_id=code("Number of the ticket.", "CNT-[0-9]{5}", ("ticket",)),
    sku=_SKU,
    recount_on=day("Day of the count.", ("scheduled_for",)),
)
"""A count that was asked for."""
