"""Settings of the site, built by `make book` from the sources that helpers/book_pages.py prepares."""

import importlib.metadata
import os
import re

project = "Remember, Retrieve, Forget"
author = "The contributors to Remember, Retrieve, Forget"
copyright = "the contributors; text and figures CC BY 4.0, code MIT"
version = release = importlib.metadata.version("remember-retrieve-forget")
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
nitpicky = False
default_role = "literal"  # docstrings write names between single backticks

nb_execution_mode = "off"  # what is shown is what the committed notebooks hold
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "ignore-module-all": True}  # each name once, where it is defined
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True  # as written in the source: a default such as DATA would show this machine's path
add_module_names = False
toc_object_entries = False

templates_path = ["_templates"]
html_sidebars = {"**": ["home.html", "search-button-field.html", "sbt-sidebar-nav.html"]}
html_context = {"default_mode": "auto"}
html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {
    "navbar_persistent": [],  # one search field, in the sidebar, is enough
    "show_navbar_depth": 1, "home_page_in_toc": False, "use_download_button": True,
    "navigation_with_keys": False,  # the arrow keys scroll
}
if repository := os.environ.get("COURSE_REPOSITORY"):
    html_theme_options |= {"repository_url": f"https://github.com/{repository}", "use_repository_button": True}


CODE = re.compile(r"(`[^`]*`)")


def plain_docstring(app, what, name, obj, options, lines):
    """Docstrings are plain text: a `*`, `|` or trailing `_` outside code means itself."""
    doctest = False
    for number, line in enumerate(lines):
        doctest = line.lstrip().startswith(">>>") or (doctest and bool(line.strip()))
        if not doctest:
            parts = CODE.split(line)
            parts[::2] = [re.sub(r"([*|]|_(?!\w))", r"\\\1", part) for part in parts[::2]]
            lines[number] = "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", plain_docstring, priority=100)  # before napoleon reads the sections
