"""Repair: drifted results and arguments converted to the declared form where that takes no guess."""
