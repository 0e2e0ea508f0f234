"""Statistics of paired verdicts over compositions that share source tasks.

Own code, not scipy or statsmodels: heavy for a few formulas, and without errors clustered over shared sources.
"""
