"""State machine that ``build_agent`` compiles to a LangGraph graph.

Internal; :mod:`asyncguard` names the public interface.
"""
