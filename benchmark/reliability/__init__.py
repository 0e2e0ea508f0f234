"""The proof that calls survive crashes: agents are killed, resumed, and judged by what was done outside of them."""
