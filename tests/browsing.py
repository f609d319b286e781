"""What the tests in a real browser share: the browser, the folder of screenshots, a page that notes its troubles."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from helpers.curriculum import ROOT

SCREENSHOTS = ROOT / "build" / "screenshots"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
           "--disable-sync", "--no-first-run"]


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium from this machine (COURSE_BROWSER names another), or Playwright's own where neither is there."""
    found = os.environ.get("COURSE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        try:
            yield started
        finally:
            started.close()


class Troubles:
    """What went wrong while a page was open: errors in its console, failed requests, calls to other machines."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("requestfailed", lambda request: self.errors.append(f"failed: {request.url}"))
        page.on("response", self._answered)
        page.on("request", self._asked)

    def _answered(self, response) -> None:
        if response.status >= 400:
            self.errors.append(f"{response.status}: {response.url}")

    def _asked(self, request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname not in ("127.0.0.1", "localhost"):
            self.errors.append(f"asked another machine: {request.url}")


def keep(page: Page, name: str) -> None:
    """A screenshot of what the page shows now, for a person to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
