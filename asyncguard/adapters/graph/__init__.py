"""State machine that ``build_agent`` compiles to a LangGraph graph."""
