"""LangGraph threads: claims, checkpoints, and which checkpoint a thread resumes from."""
