"""The state machine: ``build_agent`` compiles it to a LangGraph graph."""
