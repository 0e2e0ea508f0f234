"""The chapters of a report, each made from findings or from observed episodes."""
