"""The built site in Chromium: accessible on desktop and telephone, light and dark, and whole without a network."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import Troubles, browser, keep
from playwright.sync_api import Browser, Page

from helpers.curriculum import ROOT

pytestmark = pytest.mark.browser
SITE = ROOT / "build" / "book" / "site"
SCREENS = {"desktop-light": ((1280, 900), "light"), "phone-dark": ((390, 844), "dark"),
           "desktop-dark": ((1280, 900), "dark"), "phone-light": ((390, 844), "light")}
NAMES = sorted(path.relative_to(SITE).with_suffix("").as_posix() for path in SITE.rglob("*.html")
               if "_static" not in path.parts) or ["index"]  # not built: the fixture below says what to do
PAGES = [*(("index", screen) for screen in SCREENS),  # every page once, the screens in turn; the landing page on all
         *((name, list(SCREENS)[number % len(SCREENS)]) for number, name in enumerate(NAMES) if name != "index")]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing of each request."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The site, served on loopback."""
    assert (SITE / "index.html").is_file(), "the site is not built: run `make book`"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def opened(chromium: Browser, address: str):
    """A function that opens a page of the site on a screen and returns it with its troubles."""
    contexts = []

    def open_page(name: str, screen: str = "desktop-light") -> tuple[Page, Troubles]:
        (width, height), scheme = SCREENS[screen]
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        troubles = Troubles(page)
        page.goto(f"{address}/{name}.html", wait_until="load")
        return page, troubles
    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("name", "screen"), PAGES, ids=[f"{name} {screen}" for name, screen in PAGES])
def test_a_page_is_accessible_fits_its_screen_and_loads_nothing_from_elsewhere(opened, name, screen):
    page, troubles = opened(name, screen)
    keep(page, f"{name.replace('/', '-')}-{screen}")
    assert troubles.errors == []  # before the rules are checked: their program asks for style sheets by itself
    found = Axe().run(page).response["violations"]
    told = [f"{rule['id']}: {rule['help']}; {[node['target'] for node in rule['nodes'][:3]]}" for rule in found]
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "it scrolls sideways"
    assert page.locator("h1:visible").count() == 1
    assert page.locator("main img:not([alt]), main img[alt='']").count() == 0
    assert page.evaluate("document.documentElement.dataset.theme") == SCREENS[screen][1]


def test_a_keyboard_gets_past_the_navigation_and_opens_a_hint(opened):
    page, _ = opened("notebooks/09_exercises")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText.trim()") == "Skip to main content"
    hint = page.locator("main details").first
    hint.locator("summary").focus()
    page.keyboard.press("Enter")
    assert hint.get_attribute("open") is not None


FOCUS = """() => {
  const now = document.activeElement, before = window.focusedBefore, style = getComputedStyle(now);
  window.focusedBefore = now;
  return {name: `${now.className} ${now.getAttribute('aria-label') ?? ''}`, left: now === document.body,
          follows: !before || Boolean(before.compareDocumentPosition(now) & Node.DOCUMENT_POSITION_FOLLOWING),
          seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && now.offsetWidth > 0}
}"""


@pytest.mark.parametrize(("name", "neighbours"), [
    ("index", ["right-next"]), ("notebooks/00_start_here", ["left-prev", "right-next"])])
def test_a_keyboard_goes_through_a_page_in_order_seen_at_every_step_and_out_again(opened, name, neighbours):
    page, _ = opened(name)
    steps = []
    for _ in range(300):
        page.keyboard.press("Tab")
        steps.append(page.evaluate(FOCUS))
        if steps[-1]["left"]:
            break
    assert steps.pop()["left"], "the focus is trapped"
    assert [step["name"] for step in steps if not (step["follows"] and step["seen"])] == []
    for wanted in ("search-button", "theme-switch", *neighbours):
        assert any(wanted in step["name"] for step in steps), wanted


def test_a_search_finds_the_notebook_that_explains_the_word(opened):
    page, _ = opened("search")
    page.goto(f"{page.url}?q=hitchhiker")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    assert any("06" in text for text in page.locator("#search-results li").all_inner_texts())


def test_a_reader_gets_from_the_landing_page_to_a_notebook_and_back_to_its_words(opened):
    page, troubles = opened("index")
    page.locator("main table a", has_text="06_memory_worth_failure_modes").click()
    page.wait_for_load_state()
    assert page.url.endswith("notebooks/06_memory_worth_failure_modes.html")
    page.locator("main a[href*='glossary.html#term-']").first.click()
    page.wait_for_load_state()
    assert "glossary.html#term-" in page.url
    assert troubles.errors == []
