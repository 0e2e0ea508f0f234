"""What a worker process does: take orders off the queue, ask the journal, run the tool, write down the end."""
