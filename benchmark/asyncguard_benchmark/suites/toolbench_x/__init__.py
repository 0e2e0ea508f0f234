"""Other benchmarks, read from a user's own download; nothing of them is part of this package."""
