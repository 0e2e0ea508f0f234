"""Chromium for tests of pages.

It is looked for under its usual names (`CHROMIUM` names another). Where there is none, or where playwright is not
installed, tests are skipped; with `ASYNCGUARD_BROWSER=required`, as in CI, they fail instead.
"""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_REQUIRED = os.environ.get("ASYNCGUARD_BROWSER") == "required"


def missing(what: str) -> None:
    """Skips where a browser may be missing, and fails where it must not."""
    if _REQUIRED:
        pytest.fail(f"{what} is missing, and ASYNCGUARD_BROWSER=required")
    pytest.skip(f"{what} is not installed")


def launched() -> Iterator[Any]:
    """Headless Chromium, closed at the end."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        missing("Chromium")
    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


class Tab:
    """A page in a tab of its own, and everything that went wrong in it."""

    def __init__(self, browser: Any, url: str, *, own: str = "", **context: Any) -> None:
        """Open a tab.

        Args:
            browser: The browser.
            url: Address of the page.
            own: Start of further addresses that the page may ask for.
            context: Options of the browser's context.
        """
        self.context = browser.new_context(**context)
        self.problems: list[str] = []
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        itself = "file:" if url.startswith("file:") else url
        self._own = (itself, "data:", own or itself)
        self.page.on("request", lambda request: self._note(request.url))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]", timeout=20_000)

    def _note(self, url: str) -> None:
        if not url.startswith(self._own):
            self.problems.append(f"asked for {url}")

    def value(self, script: str) -> Any:
        """Return the value of a script."""
        return self.page.evaluate(script)

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        """Return a name of the element that has the focus."""
        said: str = self.value(
            "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"
        )
        return said
