"""Middleware for LangChain's ``create_agent``."""
