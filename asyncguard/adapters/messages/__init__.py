"""LangChain messages: parsed, sanitized, rendered and ordered for providers."""
