"""Middleware for LangChain's ``create_agent``.

Internal; :mod:`asyncguard` names the public interface.
"""
