"""Collection of what a test leaves, where its end must not wait for the collector."""

import gc


def collect_agents() -> None:
    """Collect the agents of a test with their journals, before the database is dropped that these would look for.

    What a collection leaves is in use, as episodes that a file of tests shares, and is never looked through again: in a
    process that has run many tests that took a second, after each test.
    """
    gc.collect()
    gc.freeze()
