"""Guarded agents over AG-UI, the protocol of CopilotKit and others, by ``ag-ui-langgraph``.

That package turns LangChain's callbacks into AG-UI's events. It does not read LangGraph's stream
``custom``, takes the end of every attempt for the result of its call, shows the runtime's own
messages as if users and tools had written them, and reads of a client's input only what it expects.
The modules stand on all its sides: ``streamed_graph`` is the graph that it is given,
``inner_agent`` is its own agent with what it leaves out, and ``agent`` passes its events on.

Internal; :mod:`asyncguard` names the public interface.
"""
