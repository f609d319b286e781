"""The pages around the course: their links lead somewhere, and the list of modules is the list of modules."""

import re
from pathlib import Path

import pytest

from helpers.cli import build_parser
from helpers.curriculum import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("data/**/*.md")])
LINK = re.compile(r"(?<!`)\[[^\]]+\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_files_lead_to_files(page):
    targets = [link.split("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8"))
               if "://" not in link and not link.startswith("#")]
    places = [page.parent] if page.parent.name != "docs" else [page.parent, ROOT]  # docs/ is the top of the site
    missing = [target for target in targets if not any((place / target).exists() for place in places)]
    assert missing == []


def test_every_module_stands_once_in_the_list_of_modules():
    listed = [name for page in ROOT.glob("docs/api/*.rst")
              for name in re.findall(r"automodule:: helpers\.(\w+)", page.read_text(encoding="utf-8"))]
    modules = {path.stem for path in (ROOT / "helpers").glob("*.py")} - {"__init__"}
    assert sorted(listed) == sorted(modules), "docs/api/ lists other modules than helpers/ holds"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/index.md"])
def test_commands_that_pages_name_exist(page):
    commands = set(build_parser()._subparsers._group_actions[0].choices)
    named = set(re.findall(r"(?:`|bin/)course ([a-z]+)", (ROOT / page).read_text(encoding="utf-8")))
    assert named and named <= commands


def test_make_targets_that_pages_name_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md")]
    named = {name for page in pages for name in re.findall(r"(?:`|^)make ([a-z]+)", page, re.MULTILINE)}
    assert named and named <= targets


def test_forms_ask_for_the_doctor():
    forms = [Path(path).read_text(encoding="utf-8") for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml")]
    assert sum("`course doctor`" in form for form in forms) >= 2


def test_every_reference_has_one_link_and_a_sentence():
    page = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    bullets = [" ".join(text.split()) for text in re.findall(r"^\* (.*(?:\n  .*)*)", page, re.MULTILINE)]
    wrong = [text for text in bullets if len(re.findall(r"\]\(https://", text)) != 1
             or not re.search(r"\): \w.{30,}\.$", text)]
    assert len(bullets) > 15 and wrong == []
