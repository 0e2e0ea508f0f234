"""The effect journal: what was begun and how it ended, outside the checkpoint and before the effect.

A call that may not be repeated is written down, and the writing committed, before its tool is entered. Whoever comes
back after a crash asks here, and nowhere else, whether it was begun. ``port`` has the promises, ``sqlite`` and
``postgres`` keep them.
"""
