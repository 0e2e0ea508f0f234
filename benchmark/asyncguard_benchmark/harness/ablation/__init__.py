"""Worth of each guard: arms on the same compositions and the same draws, compared with each other."""
