"""LG: a forwarder's parcels between order, depot, customs and delivery.

The weight of a consignment is told by its waybill, by the depot's scale, and by the packing list,
from whose items it is computed; its position by the carrier, by the scans of the hubs and by the
port's arrival notice. The state changes only by calls.
"""

from fractions import Fraction
from typing import Annotated, Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import ISO_DAY, Amount, Few, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import entry, fields_of, require, row_with
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import days_after, not_before
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    adds_up,
    difference,
    echoes,
    product,
)
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

_ORDERS = "logistics:{task_id}:orders"
_WAYBILLS = "logistics:{task_id}:waybills"
_SCALE = "logistics:{task_id}:scale"
_PACKING = "logistics:{task_id}:packing"
_CARRIER = "logistics:{task_id}:carrier"
_HUBS = "logistics:{task_id}:hubs"
_PORT = "logistics:{task_id}:port"
_CUSTOMS = "logistics:{task_id}:customs"
_VEHICLES = "logistics:{task_id}:vehicles"
_EFFECTS = "logistics:{task_id}:effects"
_PASSAGE = {"status": WORD, "depot": WORD, "departed_on": WORD, "arrives_on": WORD, "as_of": WORD}
_CHANNELS = ("green", "yellow", "red")
"""Treatments of a consignment by customs, from mild to strict."""
_RESULTS = result_schemas(Domain.LOGISTICS)
STATE_SCHEMA = record(
    orders=table(record(consignment_id=WORD, receiver_id=WORD, goods_code=WORD)),
    waybills=table(record(pieces=rows(NUMBER), gross=NUMBER)),
    weighings=rows(record(consignment=WORD, weighed=rows(NUMBER), sum=NUMBER)),
    packing_lists=table(rows(record(quantity=COUNT, unit_kg=NUMBER))),
    carrier=table(record(**_PASSAGE)),
    hub_scans=rows(record(shipment=WORD, **_PASSAGE)),
    port_notices=table(record(**_PASSAGE)),
    customs=record(duty_eur_per_kg=NUMBER, yellow_above_kg=NUMBER, red_above_kg=NUMBER),
    vehicles=rows(record(vehicle=WORD, capacity_kg=NUMBER)),
    storage_days=COUNT,
    effects=EFFECTS_SCHEMA,
)
_ECHO = echoes("consignment_id")

Consignment = Annotated[Text, "Number of the consignment, as CN-00000."]


_WEIGHTS = Question(
    askable={
        "read_waybill": ("consignment_id",),
        "read_scale": ("consignment",),
        "weigh_packing_list": ("packed_for",),
    },
    trusted="read_scale",
    returns=_RESULTS["weight"],
    echoed=("consignment_id",),
    compared=("/weight_kg",),
    derived_by="weigh_packing_list",
    rules=(adds_up("weight_kg", "pieces_kg"),),
)
_PASSAGES = Question(
    askable={
        "ask_carrier": ("consignment_id",),
        "ask_hubs": ("shipment",),
        "ask_port": ("reference",),
    },
    trusted="ask_port",
    returns=_RESULTS["passage"],
    echoed=("consignment_id",),
    compared=("/arrives_on", "/status", "/depot"),
    dated="/as_of",
    rules=(not_before("arrives_on", "departed_on"),),
)


@tool(
    reads=(_ORDERS,),
    remedies=Remedies(returns=_RESULTS["found"], invariants=(echoes("order_number"),)),
)
def find_consignment(
    state: State, order_number: Annotated[Text, "Number of the order, as SO-0000."]
) -> Any:
    """Tells under which number an order was sent, to whom, and the customs code of the goods."""
    return {"order_number": order_number, **entry(state, "orders", order_number, "order")}


def _weight(consignment_id: str, pieces: list[Any], total: Any) -> Any:
    return {
        "consignment_id": consignment_id,
        "piece_count": len(pieces),
        "pieces_kg": list(pieces),
        "weight_kg": total,
    }


@tool(reads=(_WAYBILLS,), remedies=_WEIGHTS.remedies)
def read_waybill(state: State, consignment_id: Consignment) -> Any:
    """Tells pieces and weight as the waybill has them."""
    waybill = entry(state, "waybills", consignment_id, "waybill for")
    return _weight(consignment_id, waybill["pieces"], waybill["gross"])


@tool(reads=(_SCALE,), remedies=_WEIGHTS.remedies)
def read_scale(state: State, consignment: Consignment) -> Any:
    """Tells pieces and weight as the depot's scale has them."""
    weighing = require(
        row_with(state["weighings"], consignment=consignment),
        f"The depot has not weighed {consignment!r}.",
    )
    return _weight(consignment, weighing["weighed"], weighing["sum"])


@tool(reads=(_PACKING,), remedies=_WEIGHTS.remedies)
def weigh_packing_list(state: State, packed_for: Consignment) -> Any:
    """Works out pieces and weight from the items on the packing list."""
    items = entry(state, "packing_lists", packed_for, "packing list for")
    pieces = [item["quantity"] * exact(item["unit_kg"]) for item in items]
    return _weight(
        packed_for, [rounded(piece, 2) for piece in pieces], rounded(sum(pieces, Fraction()), 2)
    )


def _passage(consignment_id: str, found: Any) -> Any:
    found = require(found, f"Nothing is known of {consignment_id!r}.")
    return {"consignment_id": consignment_id, **fields_of(found, _PASSAGE)}


@tool(reads=(_CARRIER,), remedies=_PASSAGES.remedies)
def ask_carrier(state: State, consignment_id: Consignment) -> Any:
    """Tells where a consignment stands by the carrier's data."""
    return _passage(consignment_id, state["carrier"].get(consignment_id))


@tool(reads=(_HUBS,), remedies=_PASSAGES.remedies)
def ask_hubs(state: State, shipment: Consignment) -> Any:
    """Tells where a consignment stands by the scans of the hubs."""
    scans = (scan for scan in state["hub_scans"] if scan["shipment"] == shipment)
    return _passage(shipment, max(scans, key=lambda scan: str(scan["as_of"]), default=None))


@tool(reads=(_PORT,), remedies=_PASSAGES.remedies)
def ask_port(state: State, reference: Consignment) -> Any:
    """Tells where a consignment stands by the port's arrival notice."""
    return _passage(reference, state["port_notices"].get(reference))


@tool(
    reads=(_VEHICLES,),
    remedies=Remedies(
        returns=_RESULTS["load"],
        invariants=(
            adds_up("total_kg", "weights_kg"),
            difference("spare_kg", "capacity_kg", "total_kg"),
        ),
    ),
)
def plan_load(
    state: State,
    weights_kg: Annotated[Few[Annotated[Amount, {"unit": "kg"}, "Kilograms."]], "Weights to load."],
) -> Any:
    """Adds up weights and picks the smallest vehicle that carries them."""
    total = exact_sum(weights_kg)
    for row in sorted(state["vehicles"], key=lambda row: exact(row["capacity_kg"])):
        spare = exact(row["capacity_kg"]) - total
        if spare >= 0:
            load = {"weights_kg": weights_kg, "total_kg": rounded(total, 2)}
            return {**load, **row, "spare_kg": rounded(spare, 2)}
    raise ToolFailure("No vehicle carries this much.")


@tool(
    reads=(_WAYBILLS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(returns=_RESULTS["delivery"], probe="check_delivery", invariants=(_ECHO,)),
)
def book_delivery(
    state: State,
    consignment_id: Consignment,
    depot: Annotated[Text, "Code of the depot, as ABC-00."],
    deliver_on: Annotated[Text, "Day of the delivery, as 2026-01-31.", ISO_DAY],
) -> Any:
    """Books the delivery of a consignment from a depot; books it again when called again."""
    entry(state, "waybills", consignment_id, "consignment")
    content = {"consignment_id": consignment_id, "depot": depot, "deliver_on": deliver_on}
    return perform(state, "book_delivery", "booking_id", "DB", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["delivery"])))
def check_delivery(
    state: State,
    consignment_id: Consignment,
    deliver_on: Annotated[Text, "Day of the delivery, as 2026-01-31.", ISO_DAY],
) -> Any:
    """Tells whether the delivery of a consignment was booked for a day."""
    return probe(state, "book_delivery", consignment_id=consignment_id, deliver_on=deliver_on)


@tool(
    reads=(_WAYBILLS, _CUSTOMS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["declaration"],
        probe="check_declaration",
        invariants=(product("duty_eur", "weight_kg", "rate_eur_per_kg"), _ECHO),
    ),
)
def lodge_declaration(
    state: State,
    consignment_id: Consignment,
    weight_kg: Annotated[Amount, {"unit": "kg"}, "Weight to declare, in kilograms."],
) -> Any:
    """Declares a consignment to customs; declares it again when called again."""
    entry(state, "waybills", consignment_id, "consignment")
    customs = state["customs"]
    grade = sum(weight_kg > customs[limit] for limit in ("yellow_above_kg", "red_above_kg"))
    content = {
        "consignment_id": consignment_id,
        "weight_kg": weight_kg,
        "rate_eur_per_kg": customs["duty_eur_per_kg"],
        "duty_eur": rounded(exact(weight_kg) * exact(customs["duty_eur_per_kg"]), 2),
        "channel": _CHANNELS[grade],
    }
    return perform(state, "lodge_declaration", "declaration_id", "CD", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["declaration"])))
def check_declaration(state: State, consignment_id: Consignment) -> Any:
    """Tells whether a consignment was declared to customs."""
    return probe(state, "lodge_declaration", consignment_id=consignment_id)


@tool(
    reads=(_WAYBILLS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["notice"], invariants=(not_before("kept_until", "arrives_on"), _ECHO)
    ),
)
def announce_arrival(
    state: State,
    consignment_id: Consignment,
    arrives_on: Annotated[Text, "Day of arrival, as 2026-01-31.", ISO_DAY],
) -> Any:
    """Tells the receiver when a consignment arrives, and until when the depot keeps it."""
    entry(state, "waybills", consignment_id, "consignment")
    kept_until = days_after(arrives_on, state["storage_days"])
    content = {"consignment_id": consignment_id, "arrives_on": arrives_on, "kept_until": kept_until}
    return perform(state, "announce_arrival", "notice_id", "AN", content)


TOOLSET = toolset(
    Domain.LOGISTICS,
    STATE_SCHEMA,
    (
        read_waybill,
        read_scale,
        weigh_packing_list,
        ask_carrier,
        ask_hubs,
        ask_port,
        find_consignment,
        plan_load,
        book_delivery,
        check_delivery,
        lodge_declaration,
        check_declaration,
        announce_arrival,
    ),
)
