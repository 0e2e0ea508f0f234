"""Fence of a thread's checkpoints: a thread continues from the last step of its last lease holder.

LangGraph resumes a thread from the checkpoint with the highest id, no matter which process stored
it; a saver has no compare-and-set. Two kinds of runs put a checkpoint over that last step:

* A refused run: LangGraph stores its input before the first node. It appends the head before its
  input again (``refused_runs``), and may cover a step that was on its way to the store.
* A stale run: its process was frozen for longer than its lease, and stores one step more when it
  thaws. That step also joins the writes of its heir where both began at the same checkpoint.

So the journal keeps on which checkpoint a run acquired and released the thread. From there the
steps lead to the true head. A run that acquires the thread and began elsewhere is refused, after it
has appended the true head again (``acquisition``). Two rules more keep a stale step off that line:

1. A process that acquires the thread from one that may still be alive (a stolen lease) begins at a
   copy of the checkpoint, which the former holder does not write to (``heads``).
2. Each state holds the fencing token of the process that stored it (``owned``); a step with a
   lower token than the one before it is not on the line. So do events: those of the higher token
   count where both have the same number.

A process whose end is not certain may store the step that its heir resumes with. A saver keeps the
writes that come first, so the heir looks for them before it stores its own (``owned``).

Internal; :mod:`asyncguard` names the public interface.
"""
