"""The runtime: issues calls, collects completions, waits. asyncio, no langgraph; all that a remote worker loads."""
