"""Timeline: a run drawn for a terminal."""
