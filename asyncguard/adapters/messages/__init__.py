"""LangChain messages: parsed, sanitized, rendered and ordered for providers.

Internal; :mod:`asyncguard` names the public interface.
"""
