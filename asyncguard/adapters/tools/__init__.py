"""LangChain tools: their declarations and schemas, and how they are invoked.

Internal; :mod:`asyncguard` names the public interface.
"""
