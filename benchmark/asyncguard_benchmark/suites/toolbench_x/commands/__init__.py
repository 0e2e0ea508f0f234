"""The commands of ToolBench-X."""
