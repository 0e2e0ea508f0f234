"""Real models as agents: clients, quotas, costs, and what a run of them records."""
