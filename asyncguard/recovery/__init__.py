"""Recovery: from a failure or a strange answer to one action, by tables.

Internal; :mod:`asyncguard` names the public interface.
"""
