"""Thumbnails of the gallery that read at 200 pixels: of a figure with several panels, its first alone."""

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import matplotlib_scraper
from sphinx_gallery.utils import scale_image

_NUMBER = re.compile(r"^# sphinx_gallery_thumbnail_number = (\d+)$", re.MULTILINE)
_PANEL = ".panel.png"


def figures_and_panels(block: Any, variables: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of a block, as sphinx-gallery does, and the first panel of those with several."""
    numbers = plt.get_fignums()
    paths = [Path(next(variables["image_path_iterator"])) for _ in numbers]
    for number, path in zip(numbers, paths, strict=True):
        figure = plt.figure(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(_PANEL).unlink(missing_ok=True)
        if len(figure.axes) > 1:
            _save_first_panel(figure, path.with_suffix(_PANEL))
    found = variables | {"image_path_iterator": iter(map(str, paths))}
    return str(matplotlib_scraper(block, found, gallery_conf))


def _save_first_panel(figure: Any, path: Path) -> None:
    for legend in figure.legends:  # they may reach into the panel
        legend.set_visible(False)
    figure.canvas.draw()
    box = figure.axes[0].get_tightbbox().transformed(figure.dpi_scale_trans.inverted())
    figure.savefig(path, bbox_inches=box.padded(0.08), dpi=200)
    for legend in figure.legends:
        legend.set_visible(True)


def use_panels(app: Any) -> None:
    """Replace the thumbnails of figures with several panels."""
    images = Path(app.srcdir) / "auto_examples" / "images"
    for script in (Path(app.srcdir) / "../examples").glob("plot_*.py"):
        found = _NUMBER.search(script.read_text(encoding="utf-8"))
        number = int(found[1]) if found else 1
        panel = images / f"sphx_glr_{script.stem}_{number:03d}{_PANEL}"
        if panel.exists():
            thumbnail = images / "thumb" / f"sphx_glr_{script.stem}_thumb.png"
            scale_image(str(panel), str(thumbnail), *app.config.sphinx_gallery_conf["thumbnail_size"])


def setup(app: Any) -> dict[str, bool]:
    """Replace them once the gallery has run."""
    app.connect("builder-inited", use_panels, priority=900)
    return {"parallel_read_safe": True}
