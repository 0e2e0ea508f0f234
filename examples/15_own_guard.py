"""A guard of one's own: one customer is never written to, and letters to the others go out one by one.

The rule reads what the thread holds already, and answers with a verdict as the built-in guards do. A second rule is
broken: its failure is reported, and the call is judged by the others.
"""

from asyncguard import (
    Admit,
    BoardView,
    Defer,
    Details,
    GuardConfig,
    GuardRule,
    Ports,
    Proposal,
    Reject,
    Verdict,
    build_agent,
    guarded,
)
from asyncguard.testing import ScriptedChatModel, calls

NO_LETTERS = {"Mr Gray"}


@guarded(effect="at_most_once", reads=[], writes=["letter:{customer}"])
def send_letter(customer: str, text: str) -> str:
    """Send a letter."""
    return f"sent to {customer}"


def one_letter_at_a_time(proposal: Proposal, board: BoardView) -> Verdict:
    """Refuse letters to some customers, and send the others one by one."""
    call = proposal.call
    if call.tool != "send_letter":
        return Admit()
    if call.arguments["customer"] in NO_LETTERS:
        return Reject(reason="This customer does not want letters. Tell the user, and go on.")
    before = tuple(each.key for each in board.open_before(call) if each.tool == "send_letter")
    return Defer(reason="Letters go out one by one.", on=before) if before else Admit()


def broken(proposal: Proposal, board: BoardView) -> Verdict:
    """Fail, as code does."""
    raise KeyError("customer")


LETTERS = GuardRule(name="letters", judge=one_letter_at_a_time)
BROKEN = GuardRule(name="broken", judge=broken, before="capacity", on_error="admit")


def show(details: Details) -> None:
    """Print what the rules did."""
    guard = getattr(details.event, "guard", "")
    if guard in ("letters", "broken"):
        print(f"{details.label}: {details.event.kind} by {guard}")


wishes = [
    ("send_letter", {"customer": customer, "text": "Good news."})
    for customer in ("Ms Brown", "Mr Gray", "Ms White")
]
model = ScriptedChatModel([calls(*wishes), "Two letters are sent; Mr Gray wants none."])
config = GuardConfig(extra=(BROKEN, LETTERS))
agent = build_agent(model, [send_letter], config=config, ports=Ports(observers=(show,)))
result = agent.invoke({"messages": [("user", "Write to Ms Brown, Mr Gray and Ms White.")]})
for message in result["messages"]:
    if message.type == "tool":
        print(message.text)
