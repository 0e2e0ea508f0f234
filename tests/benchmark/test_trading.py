import json
from typing import Any

import pytest

from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.services.trading import TOOLSET
from tests.benchmark.builders import SUB_TASKS


@pytest.fixture
def broker() -> Executor:
    """The account of tb-03: open order 48211 of 25 HALC, 20 HALK held, 1,750 dollars."""
    return Executor(TOOLSET.tools, SUB_TASKS["tb-03"].initial_state)


def ask(broker: Executor, name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(broker.call(name, values))


def order(broker: Executor, **values: Any) -> Any:
    """Places an order for HALK."""
    return ask(
        broker,
        "place_order",
        **{"symbol": "HALK", "side": "buy", "quantity": 1, "limit_price": 30, **values},
    )


def test_quotes_and_lookups(broker: Executor) -> None:
    """Names are looked up exactly, sectors as a whole."""
    assert ask(broker, "find_symbol", company="halcyon foods") == {"symbol": "HALC"}
    assert "error" in ask(broker, "find_symbol", company="Halcyon")
    assert ask(broker, "list_sector", sector="Food") == {"symbols": ["HALC", "HALK"]}
    assert ask(broker, "top_movers", sector="Food") == {
        "biggest_gain": "HALK",
        "biggest_loss": "HALC",
    }
    assert ask(broker, "get_quote", symbol="HALK") == {
        "symbol": "HALK",
        "price": 33.3,
        "day_change": 0.2,
        "day_low": 33,
    }
    assert ask(broker, "get_rating", symbol="HALK") == {"symbol": "HALK", "target_price": 36.25}
    assert "error" in ask(broker, "get_quote", symbol="HALX")
    assert "error" in ask(broker, "top_movers", sector="Steel")


def test_money_moves_only_between_account_and_linked_card(broker: Executor) -> None:
    """Another card and an overdraft are refused."""
    assert ask(broker, "deposit", amount=0.1, card_number="4410-0093") == {"balance": 1750.1}
    assert ask(broker, "withdraw", amount=0.2, card_number="4410-0093") == {"balance": 1749.9}
    assert "linked" in ask(broker, "deposit", amount=1, card_number="4410-0094")["error"]
    assert "low" in ask(broker, "withdraw", amount=5000, card_number="4410-0093")["error"]
    assert ask(broker, "get_account") == {"balance": 1749.9, "card_number": "4410-0093"}


def test_orders_need_money_or_shares(broker: Executor) -> None:
    """A buy must be covered and a sale held."""
    assert "cover" in order(broker, quantity=100)["error"]
    assert "hold" in order(broker, side="sell", quantity=21)["error"]
    assert order(broker, side="sell", quantity=20)["status"] == "open"


def test_an_extra_order_does_not_shift_the_number_of_another() -> None:
    """Numbers come from what an order says; equal orders have different ones."""
    numbers = []
    for extra in (False, True):
        broker = Executor(TOOLSET.tools, SUB_TASKS["tb-03"].initial_state)
        if extra:
            order(broker, quantity=3)
        numbers.append(order(broker)["order_id"])
    assert numbers[0] == numbers[1]
    assert order(broker)["order_id"] != numbers[1]


def test_only_open_orders_change(broker: Executor) -> None:
    """Cancelled and filled orders stay as they are."""
    assert ask(broker, "reprice_order", order_id=48211, limit_price=50)["limit_price"] == 50
    assert ask(broker, "cancel_order", order_id=48211)["status"] == "cancelled"
    assert "cancelled" in ask(broker, "cancel_order", order_id=48211)["error"]
    assert "filled" in ask(broker, "reprice_order", order_id=48117, limit_price=1)["error"]
    assert "no order" in ask(broker, "get_order", order_id=1)["error"]
    assert ask(broker, "list_orders") == {"order_ids": []}
    assert ask(broker, "list_orders", status="cancelled") == {"order_ids": [48211, 48340]}


def test_orders_change_their_size_within_money_and_shares(broker: Executor) -> None:
    """A larger buy must be covered and a larger sale held; a refused change leaves the order."""
    assert ask(broker, "resize_order", order_id=48211, quantity=31)["quantity"] == 31
    assert "cover" in ask(broker, "resize_order", order_id=48211, quantity=32)["error"]
    sale = order(broker, side="sell", quantity=5)["order_id"]
    assert "hold" in ask(broker, "resize_order", order_id=sale, quantity=21)["error"]
    assert ask(broker, "get_order", order_id=sale)["quantity"] == 5
    assert "filled" in ask(broker, "resize_order", order_id=48117, quantity=1)["error"]


def test_profiles_and_single_alerts(broker: Executor) -> None:
    """A symbol's profile and alert are returned, and reading an alert does not remove it."""
    assert ask(broker, "get_profile", symbol="HALK") == {
        "symbol": "HALK",
        "company": "Halkida Dairy",
        "sector": "Food",
    }
    assert "error" in ask(broker, "get_profile", symbol="Food")
    assert "no alert" in ask(broker, "get_alert", symbol="HALC")["error"]
    ask(broker, "set_alert", symbol="HALC", price=61.5)
    for _ in range(2):
        assert ask(broker, "get_alert", symbol="HALC") == {"symbol": "HALC", "price": 61.5}


def test_watchlist_and_alerts(broker: Executor) -> None:
    """The watchlist keeps its order and holds each stock once; an alert tells its price when it goes."""
    ask(broker, "add_to_watchlist", symbol="HALK")
    assert ask(broker, "add_to_watchlist", symbol="HALC") == {"symbols": ["HALK", "HALC"]}
    assert ask(broker, "add_to_watchlist", symbol="HALK") == {"symbols": ["HALK", "HALC"]}
    assert ask(broker, "remove_from_watchlist", symbol="HALK") == {"symbols": ["HALC"]}
    ask(broker, "set_alert", symbol="HALC", price=60)
    assert ask(broker, "remove_alert", symbol="HALC") == {"symbol": "HALC", "price": 60}
    assert "error" in ask(broker, "remove_alert", symbol="HALC")
    assert ask(broker, "get_holdings") == {"holdings": [{"symbol": "HALK", "quantity": 20}]}
