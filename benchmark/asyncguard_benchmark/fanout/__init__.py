"""Episodes on workers: the ones that ``asyncguard worker`` starts, on this machine or others.

``asyncguard worker --tools asyncguard_benchmark.fanout:tools --queue asyncguard-benchmark ...`` serves what a `Fleet`
sends. An episode has no effect, so it needs no journal: one whose worker died is played again by another, and comes out
the same.
"""

from asyncguard_benchmark.fanout.playing import play_episodes

QUEUE = "asyncguard-benchmark"
"""Where episodes wait, unless somebody names another queue; calls of agents wait elsewhere."""
tools = [play_episodes]
"""What ``asyncguard worker --tools`` is given."""

__all__ = ["QUEUE", "tools"]
