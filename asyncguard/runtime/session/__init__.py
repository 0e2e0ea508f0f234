"""Session: the state of one thread in this process, and the parts that it is made of.

Internal; :mod:`asyncguard` names the public interface.
"""
