"""JSON schemas of the results of the forwarder's tools."""

from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
)

_STATUSES = ("booked", "moving", "held", "arrived", "collected")
_STATUS_NAMES = {
    "on its way": "moving",
    "IN TRANSIT": "moving",
    "customs hold": "held",
    "at depot": "arrived",
}
_VEHICLES_KNOWN = ("bike", "van", "truck", "trailer")
_VEHICLE_NAMES = {
    "cargo bike": "bike",
    "transporter": "van",
    "lorry": "truck",
    "articulated lorry": "trailer",
}
CHANNELS = ("green", "yellow", "red")
"""Treatments of a consignment by customs, from mild to strict."""
_CHANNEL_NAMES = {"release": "green", "document check": "yellow", "inspection": "red"}

_CONSIGNMENT = code("Number of the consignment.", "CN-[0-9]{5}", ("shipment_id", "consignment_no"))
_DEPOT = code("Depot, as its code.", "[A-Z]{3}-[0-9]{2}", ("hub", "depot_code"))
_ARRIVES = day("Day of arrival.", ("eta", "arrival_date"))
_WEIGHT = quantity(
    "Weight of the consignment.", 2, 1_500, unit="kg", aliases=("gross_kg", "total_weight")
)
FOUND = record(
    order_number=code("Number of the order.", "SO-[0-9]{4}", ("order_no",)),
    consignment_id=_CONSIGNMENT,
    receiver_id=code("Who gets it.", "RC-[0-9]{3}", ("receiver", "consignee_id")),
    goods_code=code(
        "Customs code of the goods.", "[0-9]{4}[.][0-9]{2}", ("hs_code", "commodity_code")
    ),
)
"""A consignment, found by its order."""
WEIGHT_RESULT = record(
    consignment_id=_CONSIGNMENT,
    piece_count={
        "type": "integer",
        "minimum": 1,
        "maximum": 40,
        "description": "How many pieces it has.",
    },
    pieces_kg=several(
        "Weight of each piece.", quantity("Weight of a piece.", 0, 100_000, unit="kg")
    ),
    weight_kg=_WEIGHT,
)
"""Weight and pieces of a consignment."""
PASSAGE_RESULT = record(
    consignment_id=_CONSIGNMENT,
    status=one_of("Where it stands.", _STATUSES, _STATUS_NAMES),
    depot=_DEPOT,
    departed_on=day("Day on which it left.", ("departure_date",)),
    arrives_on=_ARRIVES,
    as_of=day("Day of this information.", ("updated_on", "last_update")),
)
"""Position of a consignment."""
LOAD = record(
    weights_kg=several("What is loaded.", quantity("Weight of one load.", 0, 100_000, unit="kg")),
    total_kg=quantity("Sum of the weights.", 2, 24_000, unit="kg", aliases=("sum_kg", "load_kg")),
    vehicle=one_of("Smallest vehicle that carries it.", _VEHICLES_KNOWN, _VEHICLE_NAMES),
    capacity_kg=quantity(
        "What the vehicle carries.", 50, 24_000, unit="kg", aliases=("payload_kg",)
    ),
    spare_kg=quantity(
        "What more it could carry.", 0, 100_000, unit="kg", aliases=("remaining_kg",)
    ),
)
"""A load and the vehicle for it."""
DELIVERY = record(
    booking_id=code("Number of the booking.", "DB-[0-9]{5}", ("booking_ref",)),
    consignment_id=_CONSIGNMENT,
    depot=_DEPOT,
    deliver_on=day("Day of the delivery.", ("delivery_date",)),
)
"""A booked delivery."""
DECLARATION = record(
    declaration_id=code(
        "Number of the declaration.", "CD-[0-9]{5}", ("entry_number", "declaration_ref")
    ),
    consignment_id=_CONSIGNMENT,
    weight_kg=_WEIGHT,
    rate_eur_per_kg=quantity(
        "Duty for one kilogram.", 0.05, 20, unit="EUR/kg", aliases=("duty_rate",)
    ),
    duty_eur=quantity("Duty to pay.", 0, 100_000, unit="EUR", aliases=("duty", "customs_duty")),
    channel=one_of("How customs treats it.", CHANNELS, _CHANNEL_NAMES),
)
"""A customs declaration."""
NOTICE = record(
    notice_id=code("Number of the notice.", "AN-[0-9]{5}", ("notice_ref",)),
    consignment_id=_CONSIGNMENT,
    arrives_on=_ARRIVES,
    kept_until=day("Last day on which the depot keeps it.", ("storage_until", "pickup_by")),
)
"""A notice to the receiver."""
