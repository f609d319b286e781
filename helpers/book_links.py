"""Find links inside a built site that lead nowhere: a missing page, picture, script or place on a page.

Left out: addresses of other sites, which the monthly workflow asks for.
"""

from collections.abc import Iterator
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The places (`id`, `name`) of a page, and everything it links to or loads."""

    def __init__(self) -> None:
        super().__init__()
        self.places, self.links = {""}, []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


@lru_cache(maxsize=4096)
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken_links(site: Path) -> list[str]:
    """One line for every link of a page below `site` that leads to no file of it, or to no place on that file."""
    _read.cache_clear()  # another site may stand where one stood before
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]  # templates of the theme lie there
    return sorted({f"{path.relative_to(site).as_posix()}: {link}" for path in pages for link in _broken(path, site)})


def _broken(path: Path, site: Path) -> Iterator[str]:
    for link in _read(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        place = unquote(parts.fragment) if target.suffix == ".html" else ""
        found = target.is_file() and target.is_relative_to(site.resolve())
        if not found or (place and place not in _read(target).places):
            yield link
