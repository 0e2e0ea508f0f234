"""The long runs of this folder take minutes each: they are left out of ``make slow``, and run by ``make full``."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow here as long, too."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here) and item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.full)
