"""The runtime: issues calls, collects completions and waits, on asyncio without langgraph.

Internal; :mod:`asyncguard` names the public interface.
"""
