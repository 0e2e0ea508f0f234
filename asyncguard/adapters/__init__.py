"""Adapters to LangGraph and ``create_agent``, the only importers of langgraph and langchain.

Internal; :mod:`asyncguard` names the public interface.
"""
