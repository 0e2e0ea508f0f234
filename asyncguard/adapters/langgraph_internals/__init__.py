"""All use of LangGraph beyond its public interface: keys of its configuration, its run, its notes.

Everything else goes through the modules that LangGraph documents. Each item here says why no public
call does the same, and what breaks if LangGraph changes.
``tests/adapters/test_langgraph_internals`` exercises each of them with the lowest and the
newest LangGraph that ``pyproject.toml`` allows, and ``tests/test_private_use`` finds such a use
anywhere else.

A node's configuration is LangGraph's documented way to a node. The public ``Runtime`` has
the ids of the task and of its checkpoint, and neither the checkpointer nor the run.

Internal; :mod:`asyncguard` names the public interface.
"""
