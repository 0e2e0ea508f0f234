"""The pure core: calls, footprints, events, lifecycles, ledger, admission and turn rule.

Events go in, decisions come out. Everything here is deterministic and imports only the standard
library, :mod:`asyncguard.config` and :mod:`asyncguard.errors`.

Words of the code:

- *call*: one tool invocation proposed by the model, named `tool#ordinal` within its task.
- *issue*: hand a call to an executor.
- *pending*: issued, not completed.
- *retire*: result bound, checked and visible to its task.
- *hazard*: a reason why a call may not run now, or one of the five ways in which a tool lets its
  caller down.
- *symptom*: how an attempt failed.
- *anomaly*: what is wrong with an answer that came.
- *diagnosis*: the hazard that they are taken for.
- *contract*: what a tool says of its arguments and results while it runs.
- *mark*: the runtime's word beside a result.
- *footprint*: what a call reads and writes.
- *operand*: a value taken from another call's result.
- *ledger*: the record of calls, folded from events.
- *scoreboard*: what guards read of one moment.
- *evidence*: texts that a task has been told.
- *held*: waiting for a person.
- *squashed*: deferred or held, and never issued.
- *in doubt*: begun, outcome unknown.
- *turn*: one model message.
- *news*: ends that the model does not know.
- *run*: one entry into the graph with new input.
- *intent*: an attempt written down before it begins.
- *lost*: begun by a process that is gone.
- *fate*: what becomes of an open call whose state may be behind.
- *fenced*: declared dead, so that it begins nothing more.
- *lease*: the right of one process to continue a thread, for as long as it renews it.
- *makespan*: start to last retirement.

Internal; :mod:`asyncguard` names the public interface.
"""
