"""WH: a warehouse with stock in bins, orders to ship, reservations and pick-ups.

Stock is told by the warehouse system, by the count at the shelf, and by the movements, from which
it is computed; an order by the order desk, by the web shop, and by the picking slip, from whose
cartons its pieces are counted. Orders are shipped only by calls, so a run depends on nothing else.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import (
    Remedies,
    State,
    Tool,
    amount,
    choice,
    text,
    whole,
)
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
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
from asyncguard_benchmark.suites.hazards.domains.warehouse_results import (
    COMPARED,
    ORDER_RESULT,
    PICKUP_RESULT,
    RECOUNT_RESULT,
    RESERVATION_RESULT,
    STOCK_RESULT,
    TRANSPORTS,
    WEIGHED,
)

_STOCK = "warehouse:{task_id}:stock"
_COUNTS = "warehouse:{task_id}:counts"
_MOVEMENTS = "warehouse:{task_id}:movements"
_ORDERS = "warehouse:{task_id}:orders"
_SHOP = "warehouse:{task_id}:shop"
_SLIPS = "warehouse:{task_id}:slips"
_EFFECTS = "warehouse:{task_id}:effects"
_CALENDAR = "warehouse:{task_id}:calendar"

_SHELF = {"zone": WORD, "counted_on": WORD}
_SHIPPING = {"sku": WORD, "piece_kg": NUMBER, "transport": WORD, "ship_by": WORD}
STATE_SCHEMA = record(
    next_count_day=WORD,
    stock=table(record(**_SHELF, on_hand=COUNT, bins=rows(record(bin=WORD, pieces=COUNT)))),
    counts=rows(record(article=WORD, **_SHELF, shelves=table(COUNT))),
    movements=table(record(**_SHELF, booked=rows(record(bin=WORD, change={"type": "integer"})))),
    orders=table(record(**_SHIPPING, pieces=COUNT, weight_kg=NUMBER)),
    shop=rows(record(order=WORD, **_SHIPPING, quantity=COUNT)),
    slips=table(record(**_SHIPPING, cartons=rows(COUNT))),
    effects=EFFECTS_SCHEMA,
)


def _shelf(sku: str, where: dict[str, Any], pieces: dict[str, int], on_hand: int) -> Any:
    bins = [{"bin": name, "pieces": pieces[name]} for name in sorted(pieces)]
    return {
        "sku": sku,
        "zone": where["zone"],
        "bins": bins,
        "on_hand": on_hand,
        "counted_on": where["counted_on"],
    }


def _stocked(state: State, sku: str) -> dict[str, Any]:
    found: dict[str, Any] | None = state["stock"].get(sku)
    if found is None:
        raise ToolFailure(f"No article has the number {sku!r}.")
    return found


def _stock_level(state: State, sku: str) -> Any:
    found = _stocked(state, sku)
    return _shelf(
        sku, found, {row["bin"]: row["pieces"] for row in found["bins"]}, found["on_hand"]
    )


def _counted_stock(state: State, article: str) -> Any:
    for count in state["counts"]:
        if count["article"] == article:
            return _shelf(article, count, count["shelves"], sum(count["shelves"].values()))
    raise ToolFailure(f"Nobody has counted {article!r}.")


def _movement_balance(state: State, item: str) -> Any:
    found = state["movements"].get(item)
    if found is None:
        raise ToolFailure(f"Nothing was ever moved of {item!r}.")
    pieces: dict[str, int] = {}
    for move in found["booked"]:
        pieces[move["bin"]] = pieces.get(move["bin"], 0) + move["change"]
    return _shelf(item, found, pieces, sum(move["change"] for move in found["booked"]))


def _shipping(order_id: str, order: dict[str, Any], pieces: int, weight_kg: Any) -> Any:
    kept = {name: order[name] for name in _SHIPPING}
    return {"order_id": order_id, **kept, "pieces": pieces, "weight_kg": weight_kg}


def _ordered(state: State, order_id: str) -> dict[str, Any]:
    found: dict[str, Any] | None = state["orders"].get(order_id)
    if found is None:
        raise ToolFailure(f"There is no order {order_id!r}.")
    return found


def _order_sheet(state: State, order_id: str) -> Any:
    order = _ordered(state, order_id)
    return _shipping(order_id, order, order["pieces"], order["weight_kg"])


def _web_order(state: State, shop_number: str) -> Any:
    for order in state["shop"]:
        if order["order"] == shop_number:
            weight = order["quantity"] * exact(order["piece_kg"])
            return _shipping(shop_number, order, order["quantity"], rounded(weight, 2))
    raise ToolFailure(f"The shop knows no order {shop_number!r}.")


def _carton_sum(state: State, slip: str) -> Any:
    found = state["slips"].get(slip)
    if found is None:
        raise ToolFailure(f"There is no picking slip for {slip!r}.")
    weights = [pieces * exact(found["piece_kg"]) for pieces in found["cartons"]]
    return _shipping(slip, found, sum(found["cartons"]), rounded(sum(weights, Fraction()), 2))


def _compare_pieces(_state: State, wanted: int, available: int) -> Any:
    balance = available - wanted
    verdict = "even" if balance == 0 else "enough" if balance > 0 else "short"
    return {"wanted": wanted, "available": available, "balance": balance, "verdict": verdict}


def _total_weight(_state: State, weights: list[float]) -> Any:
    return {"weights": weights, "total_kg": rounded(sum(map(exact, weights), Fraction()), 2)}


def _reserve_stock(state: State, sku: str, pieces: int, order_id: str) -> Any:
    if pieces > _stocked(state, sku)["on_hand"]:
        raise ToolFailure(f"There are fewer than {pieces} pieces of {sku}.")
    until = _ordered(state, order_id)["ship_by"]
    content = {"sku": sku, "pieces": pieces, "order_id": order_id, "held_until": until}
    return perform(state, "reserve_stock", "reservation_id", "RSV", content)


def _find_reservation(state: State, sku: str, order_id: str) -> Any:
    return probe(state, "reserve_stock", sku=sku, order_id=order_id)


def _book_pickup(state: State, order_id: str, transport: str, weight_kg: float) -> Any:
    pickup_on = _ordered(state, order_id)["ship_by"]
    content = {
        "order_id": order_id,
        "transport": transport,
        "weight_kg": weight_kg,
        "pickup_on": pickup_on,
    }
    return perform(state, "book_pickup", "booking_id", "PUP", content)


def _find_pickup(state: State, order_id: str, transport: str) -> Any:
    return probe(state, "book_pickup", order_id=order_id, transport=transport)


def _request_recount(state: State, sku: str) -> Any:
    _stocked(state, sku)
    content = {"sku": sku, "recount_on": state["next_count_day"]}
    return perform(state, "request_recount", "ticket_id", "CNT", content)


_SHELVES = Question(
    askable={"stock_level": ("sku",), "counted_stock": ("article",), "movement_balance": ("item",)},
    trusted="counted_stock",
)
_SHIPMENTS = Question(
    askable={"order_sheet": ("order_id",), "web_order": ("shop_number",), "carton_sum": ("slip",)},
    trusted="web_order",
)


def _tells_stock(name: str, description: str, run: Any, resource: str) -> Tool:
    (argument,) = _SHELVES.askable[name]
    remedies = Remedies(
        returns=STOCK_RESULT,
        fallbacks=_SHELVES.others(name),
        sources=_SHELVES.others(name),
        compared=("/on_hand", "/zone"),
        dated="/counted_on",
        verifier=None
        if name == "movement_balance"
        else _SHELVES.instead_of(name, "movement_balance"),
        invariants=(adds_up("on_hand", "bins", "pieces"), echoes(argument, "sku")),
    )
    schema = text("Number of the article, as SKU-0000.")
    return replace(
        reader(name, description, run, (resource,), **{argument: schema}), remedies=remedies
    )


def _tells_order(name: str, description: str, run: Any, resource: str) -> Tool:
    (argument,) = _SHIPMENTS.askable[name]
    remedies = Remedies(
        returns=ORDER_RESULT,
        fallbacks=_SHIPMENTS.others(name),
        sources=_SHIPMENTS.others(name),
        compared=("/sku", "/pieces", "/weight_kg", "/transport", "/ship_by"),
        verifier=None if name == "carton_sum" else _SHIPMENTS.instead_of(name, "carton_sum"),
        invariants=(product("weight_kg", "pieces", "piece_kg"), echoes(argument, "order_id")),
    )
    schema = text("Number of the order, as ORD-00000.")
    return replace(
        reader(name, description, run, (resource,), **{argument: schema}), remedies=remedies
    )


_SKU_ARGUMENT = text("Number of the article, as SKU-0000.")
_ORDER_ARGUMENT = text("Number of the order, as ORD-00000.")
_TRANSPORT_ARGUMENT = choice("How to ship.", TRANSPORTS)
_KILOGRAMS = {**amount("Kilograms."), "unit": "kg"}

_CALCULATING = (
    replace(
        reader(
            "compare_pieces",
            "Tells whether there are as many pieces as are wanted, and how many are left over.",
            _compare_pieces,
            (),
            wanted=whole("Pieces wanted.", unit="piece"),
            available=whole("Pieces there.", unit="piece"),
        ),
        remedies=Remedies(
            returns=COMPARED, invariants=(difference("balance", "available", "wanted"),)
        ),
    ),
    replace(
        reader(
            "total_weight",
            "Adds up weights.",
            _total_weight,
            (),
            weights={
                "type": "array",
                "items": _KILOGRAMS,
                "minItems": 1,
                "maxItems": 50,
                "description": "Weights.",
            },
        ),
        remedies=Remedies(returns=WEIGHED, invariants=(adds_up("total_kg", "weights"),)),
    ),
)
_HANDLING = (
    replace(
        writer(
            "reserve_stock",
            "Sets pieces aside for an order until it ships; sets more aside when called again.",
            _reserve_stock,
            (_STOCK, _ORDERS, _EFFECTS),
            (_EFFECTS,),
            sku=_SKU_ARGUMENT,
            pieces=whole("How many.", unit="piece"),
            order_id=_ORDER_ARGUMENT,
        ),
        remedies=Remedies(
            returns=RESERVATION_RESULT,
            probe="find_reservation",
            invariants=(echoes("sku", "sku"), echoes("order_id", "order_id")),
        ),
    ),
    replace(
        reader(
            "find_reservation",
            "Tells whether pieces of an article were set aside for an order.",
            _find_reservation,
            (_EFFECTS,),
            sku=_SKU_ARGUMENT,
            order_id=_ORDER_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(RESERVATION_RESULT)),
    ),
    replace(
        writer(
            "book_pickup",
            "Books a vehicle for an order on its last day to ship; books another when called again.",
            _book_pickup,
            (_ORDERS, _EFFECTS),
            (_EFFECTS,),
            order_id=_ORDER_ARGUMENT,
            transport=_TRANSPORT_ARGUMENT,
            weight_kg=_KILOGRAMS,
        ),
        remedies=Remedies(
            returns=PICKUP_RESULT, probe="find_pickup", invariants=(echoes("order_id", "order_id"),)
        ),
    ),
    replace(
        reader(
            "find_pickup",
            "Tells whether a vehicle of this kind was booked for an order.",
            _find_pickup,
            (_EFFECTS,),
            order_id=_ORDER_ARGUMENT,
            transport=_TRANSPORT_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(PICKUP_RESULT)),
    ),
    replace(
        writer(
            "request_recount",
            "Has an article counted on the next day of counting.",
            _request_recount,
            (_STOCK, _CALENDAR, _EFFECTS),
            (_EFFECTS,),
            sku=_SKU_ARGUMENT,
        ),
        remedies=Remedies(returns=RECOUNT_RESULT, invariants=(echoes("sku", "sku"),)),
    ),
)

TOOLSET = toolset(
    Domain.WAREHOUSE,
    STATE_SCHEMA,
    (
        _tells_stock(
            "stock_level",
            "Shows the stock of an article in the warehouse system.",
            _stock_level,
            _STOCK,
        ),
        _tells_stock(
            "counted_stock",
            "Shows what was counted of an article at the shelf.",
            _counted_stock,
            _COUNTS,
        ),
        _tells_stock(
            "movement_balance",
            "Works the stock of an article out anew from all that was put in and taken out.",
            _movement_balance,
            _MOVEMENTS,
        ),
        _tells_order(
            "order_sheet", "Shows an order as the order desk has it.", _order_sheet, _ORDERS
        ),
        _tells_order(
            "web_order",
            "Shows an order as the customer placed it in the web shop.",
            _web_order,
            _SHOP,
        ),
        _tells_order(
            "carton_sum",
            "Works an order out anew from the cartons on its picking slip.",
            _carton_sum,
            _SLIPS,
        ),
        *_CALCULATING,
        *_HANDLING,
    ),
)
