"""Episodes on workers: the ones that ``asyncguard worker`` starts, on this machine or others.

``asyncguard worker --tools asyncguard_benchmark.harness.fanout:tools --queue asyncguard-benchmark ...`` serves what a
`WorkerPool` sends. An episode has no effect, so it needs no journal: one whose worker died is played again by another,
and comes out the same.
"""

from asyncguard_benchmark.harness.fanout.play import play_episodes

QUEUE = "asyncguard-benchmark"
"""Queue of episodes, unless a command names another; calls of agents have queues of their own."""
tools = [play_episodes]
"""Value of ``asyncguard worker --tools``."""

__all__ = ["QUEUE", "tools"]
