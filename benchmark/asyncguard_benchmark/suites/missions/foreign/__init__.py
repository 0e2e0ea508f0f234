"""Dialogues of a user's own download as something to be played: nothing of them is shipped or executed."""
