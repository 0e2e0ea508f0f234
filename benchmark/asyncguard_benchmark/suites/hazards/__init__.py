"""Tools that drift, fail and contradict each other: tasks, faults and what they do to a run."""
