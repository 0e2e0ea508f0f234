"""The answers of a person, each with the question that it was given to.

LangGraph executes a task again from its beginning when its question is answered, perhaps in another
process, and matches answers to questions by their order within the task. Here many calls ask in one
task, and the order changes from execution to execution: tools take different times, an attempt is
repeated, a call is cancelled. So the list of answers that LangGraph stores with a question has one
entry more, the index. It says who has got each answer, and who asks the question that is out: the
attempt of a call whose tool asks, with a mark if a graph within the tool does, ``PARKED``, or the
calls that wait for approval. Middleware that asks in the same task has its answers before the
index or after it. While a process works with an answer, the stored index holds it: LangGraph stores
it later.

Of the modules, ``index`` reads and writes that entry, ``new_answer`` gives the answer that a run
was resumed with to the question that was out, and ``questions`` asks. ``take_answer`` comes first
in each execution of a task.

Internal; :mod:`asyncguard` names the public interface.
"""
