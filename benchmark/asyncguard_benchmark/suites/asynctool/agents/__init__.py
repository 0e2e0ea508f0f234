"""Simulated agents: chat models that hold a symbolic plan and take values from messages only."""
