"""WH: a warehouse with stock in bins, orders to ship, reservations and pick-ups.

Stock is told by the warehouse system, by the count at the shelf, and by the movements, from which
it is computed; an order by the order desk, by the web shop, and by the picking slip, from whose
cartons its pieces are counted. Orders are shipped only by calls, so a run depends on nothing else.
"""

from fractions import Fraction
from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import Amount, Count, Few, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import entry, fields_of, require, row_with
from asyncguard_benchmark.services.service import toolset
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
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

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
_RESULTS = result_schemas(Domain.WAREHOUSE)
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

Vehicle = Literal["parcel", "pallet", "courier", "tanker", "collection"]
Sku = Annotated[Text, "Number of the article, as SKU-0000."]
Order = Annotated[Text, "Number of the order, as ORD-00000."]
Transport = Annotated[Vehicle, "How to ship."]


_SHELVES = Question(
    askable={"stock_level": ("sku",), "counted_stock": ("article",), "movement_balance": ("item",)},
    trusted="counted_stock",
    returns=_RESULTS["stock"],
    echoed=("sku",),
    compared=("/on_hand", "/zone"),
    dated="/counted_on",
    derived_by="movement_balance",
    rules=(adds_up("on_hand", "bins", "pieces"),),
)
_SHIPMENTS = Question(
    askable={"order_sheet": ("order_id",), "web_order": ("shop_number",), "carton_sum": ("slip",)},
    trusted="web_order",
    returns=_RESULTS["order"],
    echoed=("order_id",),
    compared=("/sku", "/pieces", "/weight_kg", "/transport", "/ship_by"),
    derived_by="carton_sum",
    rules=(product("weight_kg", "pieces", "piece_kg"),),
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


def _stocked(state: State, sku: str) -> Any:
    return require(state["stock"].get(sku), f"No article has the number {sku!r}.")


@tool(reads=(_STOCK,), remedies=_SHELVES.remedies)
def stock_level(state: State, sku: Sku) -> Any:
    """Shows the stock of an article in the warehouse system."""
    found = _stocked(state, sku)
    return _shelf(
        sku, found, {row["bin"]: row["pieces"] for row in found["bins"]}, found["on_hand"]
    )


@tool(reads=(_COUNTS,), remedies=_SHELVES.remedies)
def counted_stock(state: State, article: Sku) -> Any:
    """Shows what was counted of an article at the shelf."""
    count = require(row_with(state["counts"], article=article), f"Nobody has counted {article!r}.")
    return _shelf(article, count, count["shelves"], sum(count["shelves"].values()))


@tool(reads=(_MOVEMENTS,), remedies=_SHELVES.remedies)
def movement_balance(state: State, item: Sku) -> Any:
    """Works the stock of an article out anew from all that was put in and taken out."""
    found = require(state["movements"].get(item), f"Nothing was ever moved of {item!r}.")
    pieces: dict[str, int] = {}
    for move in found["booked"]:
        pieces[move["bin"]] = pieces.get(move["bin"], 0) + move["change"]
    return _shelf(item, found, pieces, sum(move["change"] for move in found["booked"]))


def _shipping(order_id: str, order: dict[str, Any], pieces: int, weight_kg: Any) -> Any:
    kept = fields_of(order, _SHIPPING)
    return {"order_id": order_id, **kept, "pieces": pieces, "weight_kg": weight_kg}


@tool(reads=(_ORDERS,), remedies=_SHIPMENTS.remedies)
def order_sheet(state: State, order_id: Order) -> Any:
    """Shows an order as the order desk has it."""
    order = entry(state, "orders", order_id, "order")
    return _shipping(order_id, order, order["pieces"], order["weight_kg"])


@tool(reads=(_SHOP,), remedies=_SHIPMENTS.remedies)
def web_order(state: State, shop_number: Order) -> Any:
    """Shows an order as the customer placed it in the web shop."""
    order = require(
        row_with(state["shop"], order=shop_number), f"The shop knows no order {shop_number!r}."
    )
    weight = order["quantity"] * exact(order["piece_kg"])
    return _shipping(shop_number, order, order["quantity"], rounded(weight, 2))


@tool(reads=(_SLIPS,), remedies=_SHIPMENTS.remedies)
def carton_sum(state: State, slip: Order) -> Any:
    """Works an order out anew from the cartons on its picking slip."""
    found = entry(state, "slips", slip, "picking slip for")
    weights = [pieces * exact(found["piece_kg"]) for pieces in found["cartons"]]
    return _shipping(slip, found, sum(found["cartons"]), rounded(sum(weights, Fraction()), 2))


@tool(
    remedies=Remedies(
        returns=_RESULTS["compared"], invariants=(difference("balance", "available", "wanted"),)
    )
)
def compare_pieces(
    _state: State,
    wanted: Annotated[Count, "Pieces wanted.", {"unit": "piece"}],
    available: Annotated[Count, "Pieces there.", {"unit": "piece"}],
) -> Any:
    """Tells whether there are as many pieces as are wanted, and how many are left over."""
    balance = available - wanted
    verdict = "even" if balance == 0 else "enough" if balance > 0 else "short"
    return {"wanted": wanted, "available": available, "balance": balance, "verdict": verdict}


@tool(remedies=Remedies(returns=_RESULTS["weighed"], invariants=(adds_up("total_kg", "weights"),)))
def total_weight(
    _state: State,
    weights: Annotated[Few[Annotated[Amount, "Kilograms.", {"unit": "kg"}]], "Weights."],
) -> Any:
    """Adds up weights."""
    return {"weights": weights, "total_kg": rounded(exact_sum(weights), 2)}


@tool(
    reads=(_STOCK, _ORDERS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["reservation"],
        probe="find_reservation",
        invariants=(echoes("sku"), echoes("order_id")),
    ),
)
def reserve_stock(
    state: State,
    sku: Sku,
    pieces: Annotated[Count, "How many.", {"unit": "piece"}],
    order_id: Order,
) -> Any:
    """Sets pieces aside for an order until it ships; sets more aside when called again."""
    if pieces > _stocked(state, sku)["on_hand"]:
        raise ToolFailure(f"There are fewer than {pieces} pieces of {sku}.")
    until = entry(state, "orders", order_id, "order")["ship_by"]
    content = {"sku": sku, "pieces": pieces, "order_id": order_id, "held_until": until}
    return perform(state, "reserve_stock", "reservation_id", "RSV", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["reservation"])))
def find_reservation(state: State, sku: Sku, order_id: Order) -> Any:
    """Tells whether pieces of an article were set aside for an order."""
    return probe(state, "reserve_stock", sku=sku, order_id=order_id)


@tool(
    reads=(_ORDERS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["pickup"], probe="find_pickup", invariants=(echoes("order_id"),)
    ),
)
def book_pickup(
    state: State,
    order_id: Order,
    transport: Transport,
    weight_kg: Annotated[Amount, "Kilograms.", {"unit": "kg"}],
) -> Any:
    """Books a vehicle for an order on its last day to ship; books another when called again."""
    pickup_on = entry(state, "orders", order_id, "order")["ship_by"]
    content = {
        "order_id": order_id,
        "transport": transport,
        "weight_kg": weight_kg,
        "pickup_on": pickup_on,
    }
    return perform(state, "book_pickup", "booking_id", "PUP", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["pickup"])))
def find_pickup(state: State, order_id: Order, transport: Transport) -> Any:
    """Tells whether a vehicle of this kind was booked for an order."""
    return probe(state, "book_pickup", order_id=order_id, transport=transport)


@tool(
    reads=(_STOCK, _CALENDAR, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(returns=_RESULTS["recount"], invariants=(echoes("sku"),)),
)
def request_recount(state: State, sku: Sku) -> Any:
    """Has an article counted on the next day of counting."""
    _stocked(state, sku)
    content = {"sku": sku, "recount_on": state["next_count_day"]}
    return perform(state, "request_recount", "ticket_id", "CNT", content)


TOOLSET = toolset(
    Domain.WAREHOUSE,
    STATE_SCHEMA,
    (
        stock_level,
        counted_stock,
        movement_balance,
        order_sheet,
        web_order,
        carton_sum,
        compare_pieces,
        total_weight,
        reserve_stock,
        find_reservation,
        book_pickup,
        find_pickup,
        request_recount,
    ),
)
