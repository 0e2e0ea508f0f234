"""The checkpoints of a thread that are known to be on disk, so that the checkpointer is asked once for each."""


class StoredCheckpoints:
    """The last checkpoint of each namespace that is known to be on disk."""

    def __init__(self) -> None:
        """Know of no checkpoint."""
        self._last: dict[str, str] = {}

    def covers(self, namespace: str, checkpoint: str) -> bool:
        """Return whether a checkpoint is the last one known to be on disk.

        Args:
            namespace: Of the checkpoint.
            checkpoint: Its id.
        """
        return self._last.get(namespace) == checkpoint

    def note(self, namespace: str, checkpoint: str) -> None:
        """Note that a checkpoint is on disk.

        Args:
            namespace: Of the checkpoint.
            checkpoint: Its id.
        """
        self._last[namespace] = checkpoint
