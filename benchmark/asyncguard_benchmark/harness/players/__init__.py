"""Players: each drives an agent through an environment to the end of an episode."""
