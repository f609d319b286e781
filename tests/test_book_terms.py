"""The first use of a glossary term on a page leads to the glossary, and nothing else changes."""

import re

import pytest

from helpers.book_terms import link_terms, terms_of
from helpers.curriculum import ROOT

TERMS = {"memory": "memory", "memories": "memory", "memory worth": "Memory Worth", "lru": "LRU"}


def test_only_the_first_use_is_linked_in_whatever_form_it_comes():
    seen: set[str] = set()
    assert link_terms("Memories here. A memory.", TERMS, seen) == "{term}`Memories <memory>` here. A memory."
    assert link_terms("A memory again.", TERMS, seen) == "A memory again."


def test_the_longest_term_wins():
    assert link_terms("Memory Worth", TERMS, set()) == "{term}`Memory Worth <Memory Worth>`"


@pytest.mark.parametrize("text", [
    "`memory`", "## memory", "$memory$", "$$\nmemory\n$$", "[memory](memory.md)", "```\nmemory\n```", "memory-like",
    "<summary>memory</summary>", "![memory](x.png)", "https://memory.example/memory", "memorylike",
])
def test_code_formulas_links_headings_and_parts_of_words_stay(text):
    assert link_terms(text, TERMS, set()) == text


def test_text_around_code_is_still_linked():
    assert link_terms("`LRU` is LRU.", TERMS, set()) == "`LRU` is {term}`LRU <LRU>`."


def test_a_page_without_glossary_has_no_terms_and_changes_nothing():
    assert terms_of("# Glossary\n\nmemory\n") == {}
    assert link_terms("A memory.", {}, set()) == "A memory."


def test_the_course_s_glossary_defines_every_term_once_and_in_words():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    inside = page.split("```{glossary}\n")[1].split("```")[0]
    lines = [line for line in inside.splitlines() if line.strip() and not line.startswith(" ")]
    assert len(lines) == len({line.lower() for line in lines}) == len(terms_of(page))
    entries = re.split(r"\n\n", inside.strip())
    assert all(re.search(r"^  \S.*[.]$", entry, re.MULTILINE) for entry in entries)


@pytest.mark.parametrize("term", ["stream", "utility", "temperature", "task type", "statistical power",
                                  "fingerprint", "base rate", "CUSUM", "AUC", "ridge", "empirical Bayes", "softmax"])
def test_the_course_s_glossary_defines_the_words_of_the_lab(term):
    assert term.lower() in terms_of((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))


def test_a_power_cut_is_not_taken_for_the_power_of_a_test():
    terms = terms_of((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    assert link_terms("This is no power cut.", terms, set()) == "This is no power cut."
