"""The commands of the hazard suite."""
