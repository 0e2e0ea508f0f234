"""A travel desk with slow tools, as two agents: one guarded, one without any guard. Named in ``langgraph.json``.

    langgraph dev                  # both agents in LangGraph's server and Studio
    {"tasks": ["Book the cheapest flight to Lisbon on 2026-05-04 for Ada", "Request a visa for Peru for Bob"]}

**The default model is simulated** (see ``simulated_model.py`` beside this file): rules that run offline and, as eager
models do, run ahead of results. Environment:

- ``ASYNCGUARD_MODEL``: a real model instead, such as ``openai:gpt-5``.
- ``ASYNCGUARD_DESK_EFFECTS``: a file to which every effect on the world is appended as one JSON line.
- ``ASYNCGUARD_DESK_TRACE``: a file for the structured log, to be drawn by ``asyncguard trace FILE``.

The desk itself is simulated, too: nothing is booked anywhere. LangGraph's server loads this file by path.
"""

import asyncio
import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.graph.state import CompiledStateGraph

from asyncguard import GuardConfig, Inbox, Ports, TraceFile, build_agent, guarded

_PROMPT = "You work at a travel desk. Use the tools for what the user asks, and report what was really done."


class TravelDesk:
    """The simulated world: flights, bookings and an embassy. Everything takes its time."""

    def __init__(self, inbox: Inbox, *, effects: Path | None = None) -> None:
        """Open the desk.

        Args:
            inbox: Where the embassy delivers.
            effects: File of the effects, or none.
        """
        self._inbox = inbox
        self._effects = effects
        self._fares: dict[str, int] = {}
        self._bookings: dict[str, str] = {}

    def tools(self) -> list[Callable[..., Any]]:
        """Return the tools of an agent at this desk."""
        return [self._search(), self._quote(), self._book(), self._cancel(), self._visa()]

    def _search(self) -> Callable[..., Any]:
        @guarded(effect="pure", reads=["flights:{destination}"], trusted_output=True, timeout=20)
        async def search_flights(destination: str, date: str) -> dict[str, Any]:
            """Search flights to a destination on a date (YYYY-MM-DD)."""
            mark = zlib.crc32(f"{destination}|{date}".encode())
            await asyncio.sleep(0.2 + mark % 150 / 1000)
            code = destination[:3].upper()
            fares = {
                f"{code}-{200 + mark % 700}": 180 + mark % 90,
                f"{code}-{200 + mark // 700 % 700}": 290,
            }
            self._fares |= fares
            flights = [
                {"flight": f"{code}-100", "price": 640},
                *({"flight": f, "price": p} for f, p in fares.items()),
            ]
            return {"flights": flights}

        return search_flights

    def _quote(self) -> Callable[..., Any]:
        @guarded(effect="pure", reads=["fares:{flight}"], trusted_output=True, timeout=20)
        async def quote_fare(flight: str) -> dict[str, Any]:
            """Get a binding offer for a flight."""
            await asyncio.sleep(0.1)
            return {"offer": f"{flight}-STD", "price": self._fare_of(flight)}

        return quote_fare

    def _book(self) -> Callable[..., Any]:
        @guarded(
            effect="keyed",
            key_argument="key",
            reads=[],
            writes=["bookings:{traveller}"],
            trusted_output=True,
        )
        async def book_flight(
            offer: str, date: str, traveller: str, key: str = ""
        ) -> dict[str, Any]:
            """Book an offer for a traveller. This spends money."""
            await asyncio.sleep(0.15)
            price = self._fare_of(offer.removesuffix("-STD"))
            if key not in self._bookings:  # the key of a repeated attempt is that of the first
                self._bookings[key] = f"BK-{zlib.crc32(f'{key}{offer}{traveller}'.encode()):08X}"
                await self._note(
                    {
                        "effect": "booked",
                        "offer": offer,
                        "traveller": traveller,
                        "price": price,
                        "key": key,
                    }
                )
            return {"booking": self._bookings[key]}

        return book_flight

    def _cancel(self) -> Callable[..., Any]:
        @guarded(
            effect="idempotent", reads=[], writes=["bookings:*"], destructive=True, approval=True
        )
        async def cancel_booking(booking: str) -> dict[str, Any]:
            """Cancel a booking. The money is lost."""
            await asyncio.sleep(0.1)
            await self._note({"effect": "cancelled", "booking": booking})
            return {"booking": booking, "cancelled": True}

        return cancel_booking

    def _visa(self) -> Callable[..., Any]:
        @guarded(mode="external", token_argument="token", reads=[], writes=["visas:{traveller}"])
        async def request_visa(country: str, traveller: str, token: str = "") -> str:
            """Request a visa; the embassy answers later."""
            await self._note({"effect": "requested", "country": country, "traveller": traveller})
            # A real embassy would be given the token with the form and would deliver through a webhook.
            answer = {"visa": f"V-{zlib.crc32(token.encode()) % 10**6:06}"}
            asyncio.get_running_loop().call_later(0.5, self._inbox.deliver, token, answer)
            return "The form was handed in."

        return request_visa

    def _fare_of(self, flight: str) -> int:
        if flight in self._fares:
            return self._fares[flight]
        if flight.endswith("-100"):
            return 640  # every destination has its full-fare service
        raise ValueError(f"There is no flight {flight}.")

    async def _note(self, effect: Mapping[str, Any]) -> None:
        if self._effects is not None:
            await asyncio.to_thread(_append, self._effects, json.dumps(effect) + "\n")


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line)


def make_agent(config: GuardConfig, name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """An agent with a desk of its own, set up from the environment.

    Args:
        config: What is guarded.
        name: Of the agent.
    """
    inbox = Inbox()
    desk = TravelDesk(inbox, effects=_path("ASYNCGUARD_DESK_EFFECTS"))
    trace = _path("ASYNCGUARD_DESK_TRACE")
    ports = Ports(inbox=inbox, observers=[TraceFile(trace)] if trace is not None else [])
    model = os.environ.get("ASYNCGUARD_MODEL") or _simulated_model()
    return build_agent(
        model, desk.tools(), config=config, system_prompt=_PROMPT, ports=ports, name=name
    )


def _path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _simulated_model() -> BaseChatModel:
    # By path, as the server loads this file: its folder is not a package.
    place = Path(__file__).with_name("simulated_model.py")
    spec = importlib.util.spec_from_file_location("travel_desk_simulated_model", place)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"The simulated model is missing at {place}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    model: BaseChatModel = module.SimulatedModel()
    return model


guarded_agent = make_agent(GuardConfig(), "guarded_agent")
unguarded_agent = make_agent(GuardConfig.none(), "unguarded_agent")
