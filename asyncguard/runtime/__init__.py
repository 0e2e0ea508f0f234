"""The runtime: issues calls, collects completions, waits; asyncio without langgraph."""
