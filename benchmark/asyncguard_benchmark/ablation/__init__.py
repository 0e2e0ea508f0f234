"""What each guard is worth: arms beside each other on the same compositions and the same draws."""
