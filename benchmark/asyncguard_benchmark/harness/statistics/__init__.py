"""Statistics of paired verdicts over compositions that share source tasks."""
