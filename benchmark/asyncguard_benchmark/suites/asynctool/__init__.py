"""AsyncTool: tasks of twelve categories, two or three at once, with results that come late."""
