"""The middleware for LangChain's ``create_agent``."""
