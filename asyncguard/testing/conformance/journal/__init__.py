"""Contract tests for implementations of the journal port."""
