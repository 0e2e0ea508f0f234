"""Reports: figures by condition, as text, Markdown, HTML and JSON."""
