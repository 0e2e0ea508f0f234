"""TB: a trading account with quotes, orders, a watchlist, price alerts and money transfers.

Order ids come from the content of an order, not from a counter: an extra order does not shift the id of a later one.
Prices never move and orders never fill by themselves, so a run depends on nothing but its calls.
"""

import hashlib
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.declarations import (
    Effect,
    State,
    Tool,
    amount,
    arguments,
    choice,
    text,
    whole,
)
from asyncguard_benchmark.services.service import toolset

_ACCOUNT = "trading:{task_id}:account"
_HOLDINGS = "trading:{task_id}:holdings"
_WATCHLIST = "trading:{task_id}:watchlist"
_ORDERS = "trading:{task_id}:orders"
_ALERTS = "trading:{task_id}:alerts"
_MARKET = "trading:{task_id}:market"

_NUMBER = {"type": "number"}
_WORD = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}


def _record(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _table(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


STATE_SCHEMA = _record(
    balance=_NUMBER,
    card_number=_WORD,
    holdings=_table(_COUNT),
    watchlist={"type": "array", "items": _WORD},
    alerts=_table(_NUMBER),
    orders=_table(
        _record(symbol=_WORD, side=_WORD, quantity=_COUNT, limit_price=_NUMBER, status=_WORD)
    ),
    stocks=_table(
        _record(
            company=_WORD,
            sector=_WORD,
            price=_NUMBER,
            day_change=_NUMBER,
            day_low=_NUMBER,
            target_price=_NUMBER,
        )
    ),
)


def _stock(state: State, symbol: str) -> dict[str, Any]:
    if symbol not in state["stocks"]:
        raise ToolFailure(f"No stock has the symbol {symbol!r}.")
    found: dict[str, Any] = state["stocks"][symbol]
    return found


def _order(state: State, order_id: int) -> dict[str, Any]:
    found: dict[str, Any] | None = state["orders"].get(str(order_id))
    if found is None:
        raise ToolFailure(f"There is no order {order_id}.")
    return found


def _open_order(state: State, order_id: int) -> dict[str, Any]:
    order = _order(state, order_id)
    if order["status"] != "open":
        raise ToolFailure(f"Order {order_id} is {order['status']} and cannot be changed.")
    return order


def _order_id(state: State, content: tuple[Any, ...]) -> int:
    """Return five digits from the content; the n-th order of equal content takes the n-th free number of its series."""
    attempt = 0
    while True:
        digest = hashlib.sha256(repr((content, attempt)).encode()).digest()
        number = 10_000 + int.from_bytes(digest[:4], "big") % 90_000
        if str(number) not in state["orders"]:
            return number
        attempt += 1


def _find_symbol(state: State, company: str) -> Any:
    found = [
        symbol
        for symbol, stock in state["stocks"].items()
        if stock["company"].lower() == company.lower()
    ]
    if not found:
        raise ToolFailure(f"No company is named {company!r}.")
    return {"symbol": found[0]}


def _get_quote(state: State, symbol: str) -> Any:
    stock = _stock(state, symbol)
    return {"symbol": symbol, **{key: stock[key] for key in ("price", "day_change", "day_low")}}


def _get_rating(state: State, symbol: str) -> Any:
    stock = _stock(state, symbol)
    return {"symbol": symbol, "target_price": stock["target_price"]}


def _get_profile(state: State, symbol: str) -> Any:
    stock = _stock(state, symbol)
    return {"symbol": symbol, "company": stock["company"], "sector": stock["sector"]}


def _list_sector(state: State, sector: str) -> Any:
    return {
        "symbols": sorted(
            s for s, stock in state["stocks"].items() if stock["sector"].lower() == sector.lower()
        )
    }


def _top_movers(state: State, sector: str) -> Any:
    symbols = _list_sector(state, sector)["symbols"]
    if not symbols:
        raise ToolFailure(f"There is no sector {sector!r}.")
    ranked = sorted(symbols, key=lambda symbol: (state["stocks"][symbol]["day_change"], symbol))
    return {"biggest_gain": ranked[-1], "biggest_loss": ranked[0]}


def _get_account(state: State) -> Any:
    return {"balance": state["balance"], "card_number": state["card_number"]}


def _transfer(state: State, amount: float, card_number: str, sign: int) -> Any:
    if card_number != state["card_number"]:
        raise ToolFailure("This card is not linked to the account.")
    balance = round(state["balance"] + sign * amount, 2)
    if balance < 0:
        raise ToolFailure("The balance is too low.")
    state["balance"] = balance
    return {"balance": balance}


def _deposit(state: State, amount: float, card_number: str) -> Any:
    return _transfer(state, amount, card_number, 1)


def _withdraw(state: State, amount: float, card_number: str) -> Any:
    return _transfer(state, amount, card_number, -1)


def _get_holdings(state: State) -> Any:
    return {
        "holdings": [
            {"symbol": symbol, "quantity": count}
            for symbol, count in sorted(state["holdings"].items())
        ]
    }


def _get_watchlist(state: State) -> Any:
    return {"symbols": list(state["watchlist"])}


def _add_to_watchlist(state: State, symbol: str) -> Any:
    _stock(state, symbol)
    if symbol not in state["watchlist"]:
        state["watchlist"].append(symbol)
    return _get_watchlist(state)


def _remove_from_watchlist(state: State, symbol: str) -> Any:
    state["watchlist"] = [other for other in state["watchlist"] if other != symbol]
    return _get_watchlist(state)


def _place_order(state: State, symbol: str, side: str, quantity: int, limit_price: float) -> Any:
    _stock(state, symbol)
    if side == "sell" and state["holdings"].get(symbol, 0) < quantity:
        raise ToolFailure(f"The account does not hold {quantity} shares of {symbol}.")
    if side == "buy" and quantity * limit_price > state["balance"]:
        raise ToolFailure("The balance does not cover this order.")
    number = _order_id(state, (symbol, side, quantity, limit_price))
    order = {
        "symbol": symbol,
        "side": side,
        "quantity": quantity,
        "limit_price": limit_price,
        "status": "open",
    }
    state["orders"][str(number)] = order
    return {"order_id": number, **order}


def _get_order(state: State, order_id: int) -> Any:
    return {"order_id": order_id, **_order(state, order_id)}


def _list_orders(state: State, status: str) -> Any:
    return {
        "order_ids": sorted(
            int(key) for key, order in state["orders"].items() if order["status"] == status
        )
    }


def _cancel_order(state: State, order_id: int) -> Any:
    order = _open_order(state, order_id)
    order["status"] = "cancelled"
    return {"order_id": order_id, **order}


def _reprice_order(state: State, order_id: int, limit_price: float) -> Any:
    order = _open_order(state, order_id)
    if order["side"] == "buy" and order["quantity"] * limit_price > state["balance"]:
        raise ToolFailure("The balance does not cover this order.")
    order["limit_price"] = limit_price
    return {"order_id": order_id, **order}


def _resize_order(state: State, order_id: int, quantity: int) -> Any:
    order = _open_order(state, order_id)
    if order["side"] == "buy" and quantity * order["limit_price"] > state["balance"]:
        raise ToolFailure("The balance does not cover this order.")
    if order["side"] == "sell" and state["holdings"].get(order["symbol"], 0) < quantity:
        raise ToolFailure(f"The account does not hold {quantity} shares of {order['symbol']}.")
    order["quantity"] = quantity
    return {"order_id": order_id, **order}


def _get_alert(state: State, symbol: str) -> Any:
    if symbol not in state["alerts"]:
        raise ToolFailure(f"There is no alert for {symbol}.")
    return {"symbol": symbol, "price": state["alerts"][symbol]}


def _set_alert(state: State, symbol: str, price: float) -> Any:
    _stock(state, symbol)
    state["alerts"][symbol] = price
    return {"symbol": symbol, "price": price}


def _remove_alert(state: State, symbol: str) -> Any:
    removed = _get_alert(state, symbol)
    del state["alerts"][symbol]
    return removed


_SYMBOL = text("Ticker symbol.")
_SECTOR = text("Name of a sector.")
_ORDER_ID = whole("Number of an order.")
_CARD = text("Number of the linked card, as the account shows it.")


def _reads(name: str, description: str, run: Any, resource: str, **properties: Any) -> Tool:
    schema = arguments(**properties)
    return Tool(
        name=name,
        description=description,
        parameters=schema,
        effect=Effect.PURE,
        reads=(resource,),
        run=run,
    )


def _moves_money(name: str, description: str, run: Any) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters=arguments(amount=amount("Dollars."), card_number=_CARD),
        effect=Effect.AT_MOST_ONCE,
        reads=(_ACCOUNT,),
        writes=(_ACCOUNT,),
        run=run,
    )


def _watches(name: str, description: str, run: Any) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters=arguments(symbol=_SYMBOL),
        effect=Effect.IDEMPOTENT,
        reads=(_MARKET, _WATCHLIST),
        writes=(_WATCHLIST,),
        run=run,
    )


_PLACE_ORDER = Tool(
    name="place_order",
    description="Places a limit order and tells its number.",
    parameters=arguments(
        symbol=_SYMBOL,
        side=choice("Direction.", ("buy", "sell")),
        quantity=whole("Number of shares."),
        limit_price=amount("Price per share in dollars."),
    ),
    effect=Effect.AT_MOST_ONCE,
    reads=(_MARKET, _ACCOUNT, _HOLDINGS, _ORDERS),
    writes=(_ORDERS,),
    run=_place_order,
)
_CANCEL_ORDER = Tool(
    name="cancel_order",
    description="Cancels an open order.",
    parameters=arguments(order_id=_ORDER_ID),
    effect=Effect.AT_MOST_ONCE,  # the second time is an error
    reads=(_ORDERS,),
    writes=(_ORDERS,),
    run=_cancel_order,
)
_REPRICE_ORDER = Tool(
    name="reprice_order",
    description="Changes the limit price of an open order.",
    parameters=arguments(order_id=_ORDER_ID, limit_price=amount("New price per share in dollars.")),
    effect=Effect.IDEMPOTENT,
    reads=(_ACCOUNT, _ORDERS),
    writes=(_ORDERS,),
    run=_reprice_order,
)
_RESIZE_ORDER = Tool(
    name="resize_order",
    description="Changes the number of shares of an open order.",
    parameters=arguments(order_id=_ORDER_ID, quantity=whole("New number of shares.")),
    effect=Effect.IDEMPOTENT,
    reads=(_ACCOUNT, _HOLDINGS, _ORDERS),
    writes=(_ORDERS,),
    run=_resize_order,
)
_SET_ALERT = Tool(
    name="set_alert",
    description="Sets the price alert of a stock, replacing an earlier one.",
    parameters=arguments(symbol=_SYMBOL, price=amount("Price in dollars that raises the alert.")),
    effect=Effect.IDEMPOTENT,
    reads=(_MARKET,),
    writes=(f"{_ALERTS}:{{symbol}}",),
    run=_set_alert,
)
_REMOVE_ALERT = Tool(
    name="remove_alert",
    description="Removes the price alert of a stock and tells which price it had.",
    parameters=arguments(symbol=_SYMBOL),
    effect=Effect.AT_MOST_ONCE,
    reads=(f"{_ALERTS}:{{symbol}}",),
    writes=(f"{_ALERTS}:{{symbol}}",),
    run=_remove_alert,
)
_STATUS = choice("Which orders.", ("open", "filled", "cancelled"), default="open")

TOOLSET = toolset(
    Category.TRADING_BOT,
    STATE_SCHEMA,
    (
        _reads(
            "find_symbol",
            "Tells the symbol of a company.",
            _find_symbol,
            _MARKET,
            company=text("Its name."),
        ),
        _reads(
            "get_quote",
            "Tells price, change and low of the day.",
            _get_quote,
            _MARKET,
            symbol=_SYMBOL,
        ),
        _reads(
            "get_rating",
            "Tells the price that analysts aim at.",
            _get_rating,
            _MARKET,
            symbol=_SYMBOL,
        ),
        _reads(
            "get_profile",
            "Tells company and sector of a stock.",
            _get_profile,
            _MARKET,
            symbol=_SYMBOL,
        ),
        _reads(
            "list_sector", "Lists the symbols of a sector.", _list_sector, _MARKET, sector=_SECTOR
        ),
        _reads(
            "top_movers",
            "Tells the extremes of the day in a sector.",
            _top_movers,
            _MARKET,
            sector=_SECTOR,
        ),
        _reads("get_account", "Tells the balance and the linked card.", _get_account, _ACCOUNT),
        _moves_money("deposit", "Moves money from the linked card to the account.", _deposit),
        _moves_money("withdraw", "Moves money from the account to the linked card.", _withdraw),
        _reads("get_holdings", "Lists the shares held, by symbol.", _get_holdings, _HOLDINGS),
        _reads(
            "get_watchlist", "Lists the watched symbols, oldest first.", _get_watchlist, _WATCHLIST
        ),
        _watches(
            "add_to_watchlist", "Puts a stock on the watchlist and lists it.", _add_to_watchlist
        ),
        _watches(
            "remove_from_watchlist",
            "Takes a stock off the watchlist and lists it.",
            _remove_from_watchlist,
        ),
        _PLACE_ORDER,
        _reads("get_order", "Tells what an order says.", _get_order, _ORDERS, order_id=_ORDER_ID),
        _reads("list_orders", "Lists order numbers.", _list_orders, _ORDERS, status=_STATUS),
        _CANCEL_ORDER,
        _REPRICE_ORDER,
        _RESIZE_ORDER,
        _reads(
            "get_alert",
            "Tells the price of an alert.",
            _get_alert,
            f"{_ALERTS}:{{symbol}}",
            symbol=_SYMBOL,
        ),
        _SET_ALERT,
        _REMOVE_ALERT,
    ),
)
