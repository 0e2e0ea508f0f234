"""Recovery: what a failure means, and what is done about it. Pure tables; the executor does the timing."""
