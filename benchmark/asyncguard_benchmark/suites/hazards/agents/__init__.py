"""Agents of the hazard suite: what one does when a tool fails, drifts or contradicts another."""
