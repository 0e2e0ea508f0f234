"""Parts that the simulated agents of all suites share."""
