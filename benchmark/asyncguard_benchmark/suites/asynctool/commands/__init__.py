"""The commands of AsyncTool."""
