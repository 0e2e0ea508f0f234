"""LangGraph threads: claims, checkpoints, and which checkpoint a thread resumes from.

Internal; :mod:`asyncguard` names the public interface.
"""
