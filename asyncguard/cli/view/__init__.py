"""The subcommand ``asyncguard view``: a trace or a file of benchmark episodes as one page.

Internal; :mod:`asyncguard` names the public interface.
"""
