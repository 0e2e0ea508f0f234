"""LG: a forwarder's parcels between order, depot, customs and delivery.

The weight of a consignment is told by its waybill, by the depot's scale, and by the packing list,
from whose items it is computed; its position by the carrier, by the scans of the hubs and by the
port's arrival notice. The state changes only by calls.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, State, Tool, text
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import a_day, days_after, not_before
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.logistics_results import (
    CHANNELS,
    DECLARATION,
    DELIVERY,
    FOUND,
    LOAD,
    NOTICE,
    PASSAGE_RESULT,
    WEIGHT_RESULT,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    adds_up,
    difference,
    echoes,
    product,
)

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


def _find_consignment(state: State, order_number: str) -> Any:
    if order_number not in state["orders"]:
        raise ToolFailure(f"There is no order {order_number!r}.")
    return {"order_number": order_number, **state["orders"][order_number]}


def _weight(consignment_id: str, pieces: list[Any], total: Any) -> Any:
    return {
        "consignment_id": consignment_id,
        "piece_count": len(pieces),
        "pieces_kg": list(pieces),
        "weight_kg": total,
    }


def _read_waybill(state: State, consignment_id: str) -> Any:
    waybill = state["waybills"].get(consignment_id)
    if waybill is None:
        raise ToolFailure(f"There is no waybill for {consignment_id!r}.")
    return _weight(consignment_id, waybill["pieces"], waybill["gross"])


def _read_scale(state: State, consignment: str) -> Any:
    for weighing in state["weighings"]:
        if weighing["consignment"] == consignment:
            return _weight(consignment, weighing["weighed"], weighing["sum"])
    raise ToolFailure(f"The depot has not weighed {consignment!r}.")


def _weigh_packing_list(state: State, packed_for: str) -> Any:
    items = state["packing_lists"].get(packed_for)
    if items is None:
        raise ToolFailure(f"There is no packing list for {packed_for!r}.")
    pieces = [item["quantity"] * exact(item["unit_kg"]) for item in items]
    return _weight(
        packed_for, [rounded(piece, 2) for piece in pieces], rounded(sum(pieces, Fraction()), 2)
    )


def _passage(consignment_id: str, found: Any) -> Any:
    if found is None:
        raise ToolFailure(f"Nothing is known of {consignment_id!r}.")
    return {"consignment_id": consignment_id, **{name: found[name] for name in _PASSAGE}}


def _ask_carrier(state: State, consignment_id: str) -> Any:
    return _passage(consignment_id, state["carrier"].get(consignment_id))


def _ask_hubs(state: State, shipment: str) -> Any:
    scans = (scan for scan in state["hub_scans"] if scan["shipment"] == shipment)
    return _passage(shipment, max(scans, key=lambda scan: str(scan["as_of"]), default=None))


def _ask_port(state: State, reference: str) -> Any:
    return _passage(reference, state["port_notices"].get(reference))


def _plan_load(state: State, weights_kg: list[float]) -> Any:
    total = sum(map(exact, weights_kg), Fraction())
    for row in sorted(state["vehicles"], key=lambda row: exact(row["capacity_kg"])):
        spare = exact(row["capacity_kg"]) - total
        if spare >= 0:
            load = {"weights_kg": weights_kg, "total_kg": rounded(total, 2)}
            return {**load, **row, "spare_kg": rounded(spare, 2)}
    raise ToolFailure("No vehicle carries this much.")


def _known(state: State, consignment_id: str) -> None:
    if consignment_id not in state["waybills"]:
        raise ToolFailure(f"There is no consignment {consignment_id!r}.")


def _book_delivery(state: State, consignment_id: str, depot: str, deliver_on: str) -> Any:
    _known(state, consignment_id)
    content = {"consignment_id": consignment_id, "depot": depot, "deliver_on": deliver_on}
    return perform(state, "book_delivery", "booking_id", "DB", content)


def _check_delivery(state: State, consignment_id: str, deliver_on: str) -> Any:
    return probe(state, "book_delivery", consignment_id=consignment_id, deliver_on=deliver_on)


def _lodge_declaration(state: State, consignment_id: str, weight_kg: float) -> Any:
    _known(state, consignment_id)
    customs = state["customs"]
    grade = sum(weight_kg > customs[limit] for limit in ("yellow_above_kg", "red_above_kg"))
    content = {
        "consignment_id": consignment_id,
        "weight_kg": weight_kg,
        "rate_eur_per_kg": customs["duty_eur_per_kg"],
        "duty_eur": rounded(exact(weight_kg) * exact(customs["duty_eur_per_kg"]), 2),
        "channel": CHANNELS[grade],
    }
    return perform(state, "lodge_declaration", "declaration_id", "CD", content)


def _check_declaration(state: State, consignment_id: str) -> Any:
    return probe(state, "lodge_declaration", consignment_id=consignment_id)


def _announce_arrival(state: State, consignment_id: str, arrives_on: str) -> Any:
    _known(state, consignment_id)
    kept_until = days_after(arrives_on, state["storage_days"])
    content = {"consignment_id": consignment_id, "arrives_on": arrives_on, "kept_until": kept_until}
    return perform(state, "announce_arrival", "notice_id", "AN", content)


_WEIGHTS = Question(
    askable={
        "read_waybill": ("consignment_id",),
        "read_scale": ("consignment",),
        "weigh_packing_list": ("packed_for",),
    },
    trusted="read_scale",
)
_PASSAGES = Question(
    askable={
        "ask_carrier": ("consignment_id",),
        "ask_hubs": ("shipment",),
        "ask_port": ("reference",),
    },
    trusted="ask_port",
)


def _tells_weight(name: str, description: str, run: Any, resource: str) -> Tool:
    (argument,) = _WEIGHTS.askable[name]
    remedies = Remedies(
        returns=WEIGHT_RESULT,
        fallbacks=_WEIGHTS.others(name),
        sources=_WEIGHTS.others(name),
        compared=("/weight_kg",),
        verifier=None
        if name == "weigh_packing_list"
        else _WEIGHTS.instead_of(name, "weigh_packing_list"),
        invariants=(adds_up("weight_kg", "pieces_kg"), echoes(argument, "consignment_id")),
    )
    named = {argument: text("Number of the consignment, as CN-00000.")}
    return replace(reader(name, description, run, (resource,), **named), remedies=remedies)


def _tells_passage(name: str, description: str, run: Any, resource: str) -> Tool:
    (argument,) = _PASSAGES.askable[name]
    remedies = Remedies(
        returns=PASSAGE_RESULT,
        fallbacks=_PASSAGES.others(name),
        sources=_PASSAGES.others(name),
        compared=("/arrives_on", "/status", "/depot"),
        dated="/as_of",
        invariants=(not_before("arrives_on", "departed_on"), echoes(argument, "consignment_id")),
    )
    named = {argument: text("Number of the consignment, as CN-00000.")}
    return replace(reader(name, description, run, (resource,), **named), remedies=remedies)


_ECHO = echoes("consignment_id", "consignment_id")
_ID_ARGUMENT = text("Number of the consignment, as CN-00000.")
_KILOGRAMS = {"type": "number", "exclusiveMinimum": 0, "unit": "kg"}

_PLANNING = (
    replace(
        reader(
            "find_consignment",
            "Tells under which number an order was sent, to whom, and the customs code of the goods.",
            _find_consignment,
            (_ORDERS,),
            order_number=text("Number of the order, as SO-0000."),
        ),
        remedies=Remedies(returns=FOUND, invariants=(echoes("order_number", "order_number"),)),
    ),
    replace(
        reader(
            "plan_load",
            "Adds up weights and picks the smallest vehicle that carries them.",
            _plan_load,
            (_VEHICLES,),
            weights_kg={
                "type": "array",
                "items": {**_KILOGRAMS, "description": "Kilograms."},
                "minItems": 1,
                "maxItems": 50,
                "description": "Weights to load.",
            },
        ),
        remedies=Remedies(
            returns=LOAD,
            invariants=(
                adds_up("total_kg", "weights_kg"),
                difference("spare_kg", "capacity_kg", "total_kg"),
            ),
        ),
    ),
)
_ACTING = (
    replace(
        writer(
            "book_delivery",
            "Books the delivery of a consignment from a depot; books it again when called again.",
            _book_delivery,
            (_WAYBILLS, _EFFECTS),
            (_EFFECTS,),
            consignment_id=_ID_ARGUMENT,
            depot=text("Code of the depot, as ABC-00."),
            deliver_on=a_day("Day of the delivery, as 2026-01-31."),
        ),
        remedies=Remedies(returns=DELIVERY, probe="check_delivery", invariants=(_ECHO,)),
    ),
    replace(
        reader(
            "check_delivery",
            "Tells whether the delivery of a consignment was booked for a day.",
            _check_delivery,
            (_EFFECTS,),
            consignment_id=_ID_ARGUMENT,
            deliver_on=a_day("Day of the delivery, as 2026-01-31."),
        ),
        remedies=Remedies(returns=probed(DELIVERY)),
    ),
    replace(
        writer(
            "lodge_declaration",
            "Declares a consignment to customs; declares it again when called again.",
            _lodge_declaration,
            (_WAYBILLS, _CUSTOMS, _EFFECTS),
            (_EFFECTS,),
            consignment_id=_ID_ARGUMENT,
            weight_kg={**_KILOGRAMS, "description": "Weight to declare, in kilograms."},
        ),
        remedies=Remedies(
            returns=DECLARATION,
            probe="check_declaration",
            invariants=(product("duty_eur", "weight_kg", "rate_eur_per_kg"), _ECHO),
        ),
    ),
    replace(
        reader(
            "check_declaration",
            "Tells whether a consignment was declared to customs.",
            _check_declaration,
            (_EFFECTS,),
            consignment_id=_ID_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(DECLARATION)),
    ),
    replace(
        writer(
            "announce_arrival",
            "Tells the receiver when a consignment arrives, and until when the depot keeps it.",
            _announce_arrival,
            (_WAYBILLS, _EFFECTS),
            (_EFFECTS,),
            consignment_id=_ID_ARGUMENT,
            arrives_on=a_day("Day of arrival, as 2026-01-31."),
        ),
        remedies=Remedies(
            returns=NOTICE, invariants=(not_before("kept_until", "arrives_on"), _ECHO)
        ),
    ),
)

TOOLSET = toolset(
    Domain.LOGISTICS,
    STATE_SCHEMA,
    (
        _tells_weight(
            "read_waybill",
            "Tells pieces and weight as the waybill has them.",
            _read_waybill,
            _WAYBILLS,
        ),
        _tells_weight(
            "read_scale",
            "Tells pieces and weight as the depot's scale has them.",
            _read_scale,
            _SCALE,
        ),
        _tells_weight(
            "weigh_packing_list",
            "Works out pieces and weight from the items on the packing list.",
            _weigh_packing_list,
            _PACKING,
        ),
        _tells_passage(
            "ask_carrier",
            "Tells where a consignment stands by the carrier's data.",
            _ask_carrier,
            _CARRIER,
        ),
        _tells_passage(
            "ask_hubs",
            "Tells where a consignment stands by the scans of the hubs.",
            _ask_hubs,
            _HUBS,
        ),
        _tells_passage(
            "ask_port",
            "Tells where a consignment stands by the port's arrival notice.",
            _ask_port,
            _PORT,
        ),
        *_PLANNING,
        *_ACTING,
    ),
)
