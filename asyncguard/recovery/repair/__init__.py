"""Repair: drifted results and arguments converted to the declared form without a guess.

Internal; :mod:`asyncguard` names the public interface.
"""
