"""Repair: drifted results and arguments converted to the declared form without a guess."""
