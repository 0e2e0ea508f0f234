"""The two front ends, and the only importers of langgraph and langchain."""
