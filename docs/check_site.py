"""Check the built pages: links within the site lead somewhere, and nothing is loaded from elsewhere.

python docs/check_site.py FOLDER
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}
_HINTS = {
    "canonical",
    "next",
    "prev",
    "search",
    "index",
    "author",
    "copyright",
}  # link elements that load nothing


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what an element names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        loaded = given.get(_LOADS.get(tag, ""))
        if loaded and given.get("rel") not in _HINTS:
            self.loads.append(loaded)


def problems(folder: Path) -> list[str]:
    """Return a line for each link that leads nowhere and each thing loaded from elsewhere."""
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]  # the theme's
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        where = path.relative_to(folder)
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loads and parts.scheme != "data":
                    found.append(f"{where}: loads {address}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{where}: {address} is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where}: {address} has no such place")
    return found if pages else [f"{folder} has no pages"]


def main() -> int:
    """Print the problems; return how the shell should see them."""
    folder = Path(sys.argv[1]).resolve()
    found = sorted(set(problems(folder)))
    print("\n".join(found) or f"{folder.name}: all links lead somewhere, nothing is loaded from elsewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
