"""Fields of the records that leave the process, and the only place where payloads are held back.

Rules:

- Every record of a kind has exactly the fields that the table lists for it, under names that mean
  the same everywhere.
- Payloads are what users, models and tools wrote: goals, argument values, resource names (they are
  filled in from arguments), results, error texts, and reasons (they may quote any of these).
  Without ``payloads=True`` they are left out, and sizes and a fingerprint stand for them.
- Identifiers (threads, tasks, tool names, call and message ids) are kept, as a log without them is
  of no use. They are cut to ``NAME_LENGTH`` characters and cleared of control characters, as a
  model or a server may have made them up.
- A fingerprint is a hash: a reader who can guess the arguments can confirm the guess.

The ``table`` lists the fields of each kind, and ``record`` makes what leaves the process.

Internal; :mod:`asyncguard` names the public interface.
"""
