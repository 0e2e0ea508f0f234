"""Players of the missions: a user who answers questions, one clock, and the plain loop or the runtime in between."""
