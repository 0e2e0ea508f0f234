"""The two surfaces on which an agent and the environment talk."""
