"""How the documentation is built: Sphinx, MyST, the examples run by sphinx-gallery, nothing from the net."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from typing import Any

import attenua
from attenua._extras import how_to_install

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
from thumbnails import figures_and_panels  # noqa: E402

project = "attenua"
author = "The attenua developers"
copyright = "The attenua developers, BSD-3-Clause"
version = release = attenua.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "class_members",
    "gains",
    "paper_map",
    "thumbnails",
]
exclude_patterns = ["_build", "guide/_*.md", "auto_examples/*.ipynb", "auto_examples/*.py"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings cannot be stored between builds

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False


# The guide shows pictures of the gallery, so every script is run in every build, against the code as it is.
_FILTERS = warnings.filters[:]


def fail_on_warnings(gallery_conf: dict[str, Any], example: str, when: str) -> None:
    """Turn a warning inside an example into an error, which ends the build."""
    warnings.filters[:] = _FILTERS
    if when == "before":
        warnings.simplefilter("error")


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": True,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", fail_on_warnings),
    "reset_modules_order": "both",
    "download_all_examples": False,
    "capture_repr": (),
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "doc_module": ("attenua", "attenua_paper"),
    "backreferences_dir": "api/generated/backreferences",
    "image_scrapers": (figures_and_panels,),
    "thumbnail_size": (400, 280),
}

html_theme = "pydata_sphinx_theme"
html_title = "attenua"
html_static_path = ["_static"]
html_css_files = ["attenua.css"]
html_show_sourcelink = False
html_use_index = False  # the reference lists every name, and the search finds it
html_copy_source = False
html_theme_options = {
    "logo": {"text": "attenua"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "tango",
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
# Pages that stand alone have no sidebar.
alone = ("index", "faq", "changelog")
html_sidebars = {page: [] for page in alone}

# One file draws all formulas, without fonts or anything else from the net.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}


def copy_mathjax(app: Any) -> None:
    """Copy MathJax into the pages."""
    spec = find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"the documentation needs sphinx-mathjax-offline: {how_to_install('docs')}")
    target = Path(app.outdir) / "_static" / mathjax_path
    target.parent.mkdir(parents=True, exist_ok=True)
    copyfile(Path(spec.origin).parent / "static" / mathjax_path, target)


def setup(app: Any) -> None:
    """Register the hook of a build."""
    app.connect("builder-inited", copy_mathjax)
