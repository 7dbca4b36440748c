"""List the pages of a build by height, and fail where one is taller than about five screens.

python docs/page_heights.py docs/_build/html
"""

import os
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

WIDTH, SCREEN = 1400, 1000
LIMIT = 5_500
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


def heights(folder: Path) -> dict[str, int]:
    """Return the height in pixels of each page below a folder, by its path."""
    paths = sorted(path for path in folder.rglob("*.html") if "_static" not in path.parts)
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": SCREEN})
        found = {str(path.relative_to(folder)): height(page, path) for path in paths}
        browser.close()
    return found


def height(page: Page, path: Path) -> int:
    """Return the height of one page, with its pictures and formulas in place."""
    page.goto(path.resolve().as_uri())
    page.evaluate("() => window.MathJax?.startup?.promise")
    return int(
        page.evaluate("document.querySelector('.bd-main')?.scrollHeight ?? document.body.scrollHeight")
    )


def main(folder: Path) -> int:
    """Print all heights, the tallest first, and return 1 if one is above the limit."""
    found = heights(folder)
    for path, pixels in sorted(found.items(), key=lambda item: -item[1]):
        print(f"{pixels:7,} {'too tall' if pixels > LIMIT else '':8} {path}")
    return int(max(found.values()) > LIMIT)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
