"""Configuration of the site that ``make docs`` builds from pages that are plain Markdown in the repository."""

project = "asyncguard"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
html_theme = "furo"
html_title = "asyncguard"
html_show_copyright = False
root_doc = "docs/index"
# The source folder is the repository, so that links between pages, README and the benchmark's documents lead there.
include_patterns = [
    "docs/*.md",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmark/*.md",
    "benchmark/mission_sources/*.md",
    "benchmark/learned/model/*.md",
]
exclude_patterns = [".*", "build", "**/.*"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
