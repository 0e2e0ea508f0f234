"""Plain failures are handled by the runtime: a retry where it is safe, else a sibling tool. No model turn is spent.

What may be repeated follows from the declaration: a pure tool may, a payment may not. The model is scripted; any real
one takes its place.
"""

import asyncio

from asyncguard import Details, GuardConfig, Ports, Timing, build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls

server_is_up = iter([ConnectionError("it hung up"), ConnectionError("it hung up"), None])


@guarded(effect="pure")
async def read_rates(currency: str) -> str:
    """Read today's exchange rate."""
    if (failure := next(server_is_up)) is not None:
        raise failure
    return f"1 {currency} = 0.92 EUR"


@guarded(effect="pure", fallbacks=["read_archive"])
async def read_live(city: str) -> str:
    """Read the live temperature in a city."""
    raise ValueError("the sensor is broken")


@guarded(effect="pure")
async def read_archive(city: str) -> str:
    """Read the last known temperature in a city."""
    return f"{city} had 19 degrees an hour ago"


@guarded(effect="at_most_once")
async def pay(amount: int) -> str:
    """Pay an amount."""
    raise ConnectionError("the bank hung up")


def show(details: Details) -> None:
    """Print recoveries; an observer is told every event."""
    if details.event.kind in ("call_recovered", "call_retired"):
        action = getattr(details.event, "action", None) or getattr(details.event, "outcome", None)
        print(f"{details.label}: {action}")


model = ScriptedChatModel(
    [
        calls(
            ("read_rates", {"currency": "USD"}),
            ("read_live", {"city": "Oslo"}),
            ("pay", {"amount": 5}),
        ),
        "1 USD is 0.92 EUR and Oslo had 19 degrees. Please check your bank: I do not know whether the 5 EUR were paid.",
    ]
)
agent = build_agent(
    model,
    [read_rates, read_live, read_archive, pay],
    config=GuardConfig(timing=Timing(retry_initial=0.01, retry_jitter=0.0)),
    ports=Ports(observers=[show]),
)
result = asyncio.run(
    agent.ainvoke({"messages": [("user", "Rate of the dollar? Oslo? And pay 5.")]})
)
print("in doubt:", result["report"]["in_doubt"])
print("turns of the model:", result["report"]["turns"])
print("answer:", result["messages"][-1].text)
