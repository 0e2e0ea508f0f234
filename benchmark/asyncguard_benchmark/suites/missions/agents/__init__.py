"""Simulated agents of the missions: programs that read nothing but their plan and the messages they are sent."""
