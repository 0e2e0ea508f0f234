"""Run of an agent, shared by both adapters: open the thread, apply messages, advance, deliver, end.

The adapters differ in what a call needs to run (``create_agent`` has wrappers) and in how a step is
reported to LangGraph. Everything else is here, and outside the runtime only this package and the
session cache know sessions. ``threads`` finds the ``run`` of a state; what is done with it is a
function of the module of its subject: its ``start``, a ``turn`` of the model, ``questions`` of
tools, ``answers`` of people, a ``hand_over`` to the graph around.

Internal; :mod:`asyncguard` names the public interface.
"""
