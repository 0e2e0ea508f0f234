"""Recovery: pure tables of what a failure means and what is done about it.

Internal; :mod:`asyncguard` names the public interface.
"""
