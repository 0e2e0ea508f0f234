"""An agent whose language model was trained from scratch on synchronous traces; needs the extra `learned`."""
