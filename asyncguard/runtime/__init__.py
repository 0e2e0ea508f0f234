"""The runtime: issues calls, collects completions, waits; asyncio without langgraph.

Internal; :mod:`asyncguard` names the public interface.
"""
