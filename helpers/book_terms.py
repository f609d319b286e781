"""Link the first use of each glossary term on a page to the glossary.

Left out: terms in headings, code, formulas, HTML and the text of links, which stay as they are.
"""

import re

GLOSSARY = re.compile(r"^```\{glossary\}\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Where no link may be put: code, formulas, links, headings, HTML, and MyST roles.
FIXED = re.compile(r"```.*?```|\{\w+\}`[^`]*`|`[^`]*`|\$\$.*?\$\$|\$[^$\n]+\$|!?\[[^\]]*\]\([^)]*\)|^#.*?$|"
                   r"<summary>.*?</summary>|<[^>\n]+>|https?://\S+", re.DOTALL | re.MULTILINE)


def terms_of(page: str) -> dict[str, str]:
    """Every term of the glossary in `page` in lower case, with the first term of its definition.

    A definition may stand under several terms, its other forms below the first.

    >>> terms_of("```{glossary}\\nLesson\\nlessons\\n  What is kept.\\n```")
    {'lesson': 'Lesson', 'lessons': 'Lesson'}
    """
    terms, first = {}, ""
    for line in "\n".join(GLOSSARY.findall(page)).splitlines():
        if not line.strip() or line.startswith(" "):
            first = ""
        else:
            terms[line.lower()] = first = first or line
    return terms


def link_terms(text: str, terms: dict[str, str], seen: set[str]) -> str:
    """`text` with the first use of each term as a link; `seen` holds what is linked on this page and grows.

    >>> link_terms("Two lessons; `lesson`; a lesson.", {"lesson": "Lesson", "lessons": "Lesson"}, set())
    'Two {term}`lessons <Lesson>`; `lesson`; a lesson.'
    """
    if not terms:
        return text
    longest_first = sorted(terms, key=len, reverse=True)
    word = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)

    def linked(match: re.Match) -> str:
        term = terms[match.group().lower()]
        if term in seen:
            return match.group()
        seen.add(term)
        return f"{{term}}`{match.group()} <{term}>`"

    parts, end = [], 0
    for fixed in FIXED.finditer(text):
        parts += [word.sub(linked, text[end:fixed.start()]), fixed.group()]
        end = fixed.end()
    return "".join([*parts, word.sub(linked, text[end:])])
