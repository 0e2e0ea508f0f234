"""Commands of the missions."""
