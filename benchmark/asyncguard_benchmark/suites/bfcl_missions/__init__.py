"""Dialogues of BFCL multi-turn played as missions; the one suite that puts two others together."""
