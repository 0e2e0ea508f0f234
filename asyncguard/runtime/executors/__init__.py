"""Executors: who runs the calls. The port is in :mod:`asyncguard.runtime.executors.port`.

Internal; :mod:`asyncguard` names the public interface.
"""
