"""NESTFUL v2: nested calls of published Python functions, read from a user's own download."""
