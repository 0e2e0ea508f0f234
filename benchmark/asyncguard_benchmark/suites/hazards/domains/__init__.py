"""The domains of the hazard suite; each module exports its `TOOLSET`."""
