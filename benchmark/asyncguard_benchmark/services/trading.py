"""TB: a trading account with quotes, orders, a watchlist, price alerts and money transfers.

Order ids come from the content of an order, not from a counter: an extra order does not shift the id of a later one.
Prices never move and orders never fill by themselves, so a run depends on nothing but its calls.
"""

from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Amount, Count, Text
from asyncguard_benchmark.services.content_ids import numbers
from asyncguard_benchmark.services.declarations import Effect, State, tool
from asyncguard_benchmark.services.records import fields_of, require
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table

_ACCOUNT = "trading:{task_id}:account"
_HOLDINGS = "trading:{task_id}:holdings"
_WATCHLIST = "trading:{task_id}:watchlist"
_ORDERS = "trading:{task_id}:orders"
_ALERTS = "trading:{task_id}:alerts"
_MARKET = "trading:{task_id}:market"
STATE_SCHEMA = record(
    balance=NUMBER,
    card_number=WORD,
    holdings=table(COUNT),
    watchlist=rows(WORD),
    alerts=table(NUMBER),
    orders=table(record(symbol=WORD, side=WORD, quantity=COUNT, limit_price=NUMBER, status=WORD)),
    stocks=table(
        record(
            company=WORD,
            sector=WORD,
            price=NUMBER,
            day_change=NUMBER,
            day_low=NUMBER,
            target_price=NUMBER,
        )
    ),
)

Symbol = Annotated[Text, "Ticker symbol."]
Sector = Annotated[Text, "Name of a sector."]
Card = Annotated[Text, "Number of the linked card, as the account shows it."]
OrderId = Annotated[Count, "Number of an order."]


def _stock(state: State, symbol: str) -> Any:
    return require(state["stocks"].get(symbol), f"No stock has the symbol {symbol!r}.")


def _order(state: State, order_id: int) -> Any:
    return require(state["orders"].get(str(order_id)), f"There is no order {order_id}.")


def _open_order(state: State, order_id: int) -> Any:
    order = _order(state, order_id)
    if order["status"] != "open":
        raise ToolFailure(f"Order {order_id} is {order['status']} and cannot be changed.")
    return order


@tool(reads=(_MARKET,))
def find_symbol(state: State, company: Annotated[Text, "Its name."]) -> Any:
    """Tells the symbol of a company."""
    found = [
        symbol
        for symbol, stock in state["stocks"].items()
        if stock["company"].lower() == company.lower()
    ]
    if not found:
        raise ToolFailure(f"No company is named {company!r}.")
    return {"symbol": found[0]}


@tool(reads=(_MARKET,))
def get_quote(state: State, symbol: Symbol) -> Any:
    """Tells price, change and low of the day."""
    stock = _stock(state, symbol)
    return {"symbol": symbol, **fields_of(stock, "price day_change day_low")}


@tool(reads=(_MARKET,))
def get_rating(state: State, symbol: Symbol) -> Any:
    """Tells the price that analysts aim at."""
    stock = _stock(state, symbol)
    return {"symbol": symbol, "target_price": stock["target_price"]}


@tool(reads=(_MARKET,))
def get_profile(state: State, symbol: Symbol) -> Any:
    """Tells company and sector of a stock."""
    stock = _stock(state, symbol)
    return {"symbol": symbol, **fields_of(stock, "company sector")}


@tool(reads=(_MARKET,))
def list_sector(state: State, sector: Sector) -> Any:
    """Lists the symbols of a sector."""
    return {
        "symbols": sorted(
            s for s, stock in state["stocks"].items() if stock["sector"].lower() == sector.lower()
        )
    }


@tool(reads=(_MARKET,))
def top_movers(state: State, sector: Sector) -> Any:
    """Tells the extremes of the day in a sector."""
    symbols = list_sector.run(state, sector)["symbols"]
    if not symbols:
        raise ToolFailure(f"There is no sector {sector!r}.")
    ranked = sorted(symbols, key=lambda symbol: (state["stocks"][symbol]["day_change"], symbol))
    return {"biggest_gain": ranked[-1], "biggest_loss": ranked[0]}


@tool(reads=(_ACCOUNT,))
def get_account(state: State) -> Any:
    """Tells the balance and the linked card."""
    return fields_of(state, "balance card_number")


def _transfer(state: State, amount: float, card_number: str, sign: int) -> Any:
    if card_number != state["card_number"]:
        raise ToolFailure("This card is not linked to the account.")
    balance = round(state["balance"] + sign * amount, 2)
    if balance < 0:
        raise ToolFailure("The balance is too low.")
    state["balance"] = balance
    return {"balance": balance}


@tool(reads=(_ACCOUNT,), writes=(_ACCOUNT,))
def deposit(state: State, amount: Annotated[Amount, "Dollars."], card_number: Card) -> Any:
    """Moves money from the linked card to the account."""
    return _transfer(state, amount, card_number, 1)


@tool(reads=(_ACCOUNT,), writes=(_ACCOUNT,))
def withdraw(state: State, amount: Annotated[Amount, "Dollars."], card_number: Card) -> Any:
    """Moves money from the account to the linked card."""
    return _transfer(state, amount, card_number, -1)


@tool(reads=(_HOLDINGS,))
def get_holdings(state: State) -> Any:
    """Lists the shares held, by symbol."""
    return {
        "holdings": [
            {"symbol": symbol, "quantity": count}
            for symbol, count in sorted(state["holdings"].items())
        ]
    }


@tool(reads=(_WATCHLIST,))
def get_watchlist(state: State) -> Any:
    """Lists the watched symbols, oldest first."""
    return {"symbols": list(state["watchlist"])}


@tool(effect=Effect.IDEMPOTENT, reads=(_MARKET, _WATCHLIST), writes=(_WATCHLIST,))
def add_to_watchlist(state: State, symbol: Symbol) -> Any:
    """Puts a stock on the watchlist and lists it."""
    _stock(state, symbol)
    if symbol not in state["watchlist"]:
        state["watchlist"].append(symbol)
    return get_watchlist.run(state)


@tool(effect=Effect.IDEMPOTENT, reads=(_MARKET, _WATCHLIST), writes=(_WATCHLIST,))
def remove_from_watchlist(state: State, symbol: Symbol) -> Any:
    """Takes a stock off the watchlist and lists it."""
    state["watchlist"] = [other for other in state["watchlist"] if other != symbol]
    return get_watchlist.run(state)


@tool(reads=(_MARKET, _ACCOUNT, _HOLDINGS, _ORDERS), writes=(_ORDERS,))
def place_order(
    state: State,
    symbol: Symbol,
    side: Annotated[Literal["buy", "sell"], "Direction."],
    quantity: Annotated[Count, "Number of shares."],
    limit_price: Annotated[Amount, "Price per share in dollars."],
) -> Any:
    """Places a limit order and tells its number."""
    _stock(state, symbol)
    if side == "sell" and state["holdings"].get(symbol, 0) < quantity:
        raise ToolFailure(f"The account does not hold {quantity} shares of {symbol}.")
    if side == "buy" and quantity * limit_price > state["balance"]:
        raise ToolFailure("The balance does not cover this order.")
    content = (symbol, side, quantity, limit_price)
    series = numbers(lambda attempt: repr((content, attempt)))
    number = next(each for each in series if str(each) not in state["orders"])
    order = {
        "symbol": symbol,
        "side": side,
        "quantity": quantity,
        "limit_price": limit_price,
        "status": "open",
    }
    state["orders"][str(number)] = order
    return {"order_id": number, **order}


@tool(reads=(_ORDERS,))
def get_order(state: State, order_id: OrderId) -> Any:
    """Tells what an order says."""
    return {"order_id": order_id, **_order(state, order_id)}


@tool(reads=(_ORDERS,))
def list_orders(
    state: State,
    status: Annotated[Literal["open", "filled", "cancelled"], "Which orders."] = "open",
) -> Any:
    """Lists order numbers."""
    return {
        "order_ids": sorted(
            int(key) for key, order in state["orders"].items() if order["status"] == status
        )
    }


# At most once: the second time is an error.
@tool(reads=(_ORDERS,), writes=(_ORDERS,))
def cancel_order(state: State, order_id: OrderId) -> Any:
    """Cancels an open order."""
    order = _open_order(state, order_id)
    order["status"] = "cancelled"
    return {"order_id": order_id, **order}


@tool(effect=Effect.IDEMPOTENT, reads=(_ACCOUNT, _ORDERS), writes=(_ORDERS,))
def reprice_order(
    state: State,
    order_id: OrderId,
    limit_price: Annotated[Amount, "New price per share in dollars."],
) -> Any:
    """Changes the limit price of an open order."""
    order = _open_order(state, order_id)
    if order["side"] == "buy" and order["quantity"] * limit_price > state["balance"]:
        raise ToolFailure("The balance does not cover this order.")
    order["limit_price"] = limit_price
    return {"order_id": order_id, **order}


@tool(effect=Effect.IDEMPOTENT, reads=(_ACCOUNT, _HOLDINGS, _ORDERS), writes=(_ORDERS,))
def resize_order(
    state: State, order_id: OrderId, quantity: Annotated[Count, "New number of shares."]
) -> Any:
    """Changes the number of shares of an open order."""
    order = _open_order(state, order_id)
    if order["side"] == "buy" and quantity * order["limit_price"] > state["balance"]:
        raise ToolFailure("The balance does not cover this order.")
    if order["side"] == "sell" and state["holdings"].get(order["symbol"], 0) < quantity:
        raise ToolFailure(f"The account does not hold {quantity} shares of {order['symbol']}.")
    order["quantity"] = quantity
    return {"order_id": order_id, **order}


@tool(reads=(f"{_ALERTS}:{{symbol}}",))
def get_alert(state: State, symbol: Symbol) -> Any:
    """Tells the price of an alert."""
    price = require(state["alerts"].get(symbol), f"There is no alert for {symbol}.")
    return {"symbol": symbol, "price": price}


@tool(effect=Effect.IDEMPOTENT, reads=(_MARKET,), writes=(f"{_ALERTS}:{{symbol}}",))
def set_alert(
    state: State,
    symbol: Symbol,
    price: Annotated[Amount, "Price in dollars that raises the alert."],
) -> Any:
    """Sets the price alert of a stock, replacing an earlier one."""
    _stock(state, symbol)
    state["alerts"][symbol] = price
    return {"symbol": symbol, "price": price}


@tool(reads=(f"{_ALERTS}:{{symbol}}",), writes=(f"{_ALERTS}:{{symbol}}",))
def remove_alert(state: State, symbol: Symbol) -> Any:
    """Removes the price alert of a stock and tells which price it had."""
    removed = get_alert.run(state, symbol)
    del state["alerts"][symbol]
    return removed


TOOLSET = toolset(
    Category.TRADING_BOT,
    STATE_SCHEMA,
    (
        find_symbol,
        get_quote,
        get_rating,
        get_profile,
        list_sector,
        top_movers,
        get_account,
        deposit,
        withdraw,
        get_holdings,
        get_watchlist,
        add_to_watchlist,
        remove_from_watchlist,
        place_order,
        get_order,
        list_orders,
        cancel_order,
        reprice_order,
        resize_order,
        get_alert,
        set_alert,
        remove_alert,
    ),
)
