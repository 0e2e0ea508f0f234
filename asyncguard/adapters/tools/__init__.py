"""LangChain tools: their declarations and schemas, and how they are invoked."""
