"""extract_code on what models really write."""

import pytest

from helpers.code_blocks import defines, extract_code

CODE = "def f(x):\n    return x + 1"


@pytest.mark.parametrize("opening", ["```", "```py", "```Python", "```python3", "```PYTHON", "``` python",
                                     "```python  ", '```python title="f.py"', "```{.python .lines}", "```{python}",
                                     "```{code-cell} python", "````python", "~~~", "~~~python", "~~~~ py", "```pycon"])
def test_every_opening_is_read(opening: str) -> None:
    mark = opening[: len(opening) - len(opening.lstrip("`~"))]
    assert extract_code(f"Here:\n\n{opening}\n{CODE}\n{mark}\nBye.", "f") == CODE


def test_crlf_bom_and_trailing_blanks_after_the_fence() -> None:
    assert extract_code(f"\ufeff```python \r\n{CODE}\r\n```  \r\n".replace("    ", "    "), "f") == CODE
    assert extract_code("```python\r\ndef f(x):\r\n    return x + 1\r\n```\r\n", "f") == CODE


def test_indented_fence_in_a_list() -> None:
    reply = "1. First:\n\n   ```python\n   def f(x):\n       return x + 1\n   ```\n2. Then run it."
    assert extract_code(reply, "f") == CODE
    assert extract_code("- ```python\n  def f(x):\n      return x + 1\n  ```", "f") == CODE
    assert extract_code("\t```python\n\tdef f(x):\n\t    return x + 1\n\t```", "f") == CODE


@pytest.mark.parametrize("quote", ['"""', "'''"])
def test_a_fence_inside_a_docstring_does_not_end_the_block(quote: str) -> None:
    code = f"def f(x):\n    {quote}Example:\n\n    ```python\n    f(1)\n    ```\n    {quote}\n    return x + 1"
    assert extract_code(f"```python\n{code}\n```\nThat is all.", "f") == code


def test_a_docstring_left_open_ends_at_the_fence() -> None:
    assert extract_code('```python\ndef f(x):\n    """open\n    return x\n```\nProse.', "f") == \
        'def f(x):\n    """open\n    return x'


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert extract_code("````python\ns = '''\n```\n'''\ndef f(x):\n    return s\n````", "f").endswith("return s")
    assert extract_code(f"~~~python\n{CODE}\n```\n~~~", "f") == f"{CODE}\n```"


def test_unclosed_fence_runs_to_the_end() -> None:
    assert extract_code(f"```python\n{CODE}", "f") == CODE
    assert extract_code(f"```python\n{CODE}\n\n\n", "f") == CODE


def test_the_last_block_that_defines_the_entry_point_wins() -> None:
    first, second, usage = "def f(x):\n    return 1", "def f(x):\n    return 2", "print(f(3))"
    reply = f"A:\n```python\n{first}\n```\nBetter:\n```python\n{second}\n```\nUse:\n```python\n{usage}\n```"
    assert extract_code(reply, "f") == second
    assert extract_code(reply) == usage
    assert extract_code(reply, "absent") == usage


def test_a_block_of_another_language_loses() -> None:
    reply = f"```python\n{CODE}\n```\n```text\n4\n```\n```json\n{{}}\n```"
    assert extract_code(reply) == CODE
    assert extract_code("```text\n4\n```") == "4"


@pytest.mark.parametrize("name", ["f", "F", "f2"])
def test_defines_looks_at_column_zero_only(name: str) -> None:
    assert defines(f"async def {name}(x): ...", name)
    assert defines(f"class {name}: ...", name)
    assert defines(f"{name} = lambda x: x", name)
    assert defines(f"{name}: int = 3", name)
    assert not defines(f"    def {name}(x): ...", name)
    assert not defines(f"{name} == 3", name)
    assert not defines(f"def {name}_other(x): ...", name)


@pytest.mark.parametrize("first", ["def f(x):\n    return x", "from math import pi", "import math",
                                   "class A:\n    x = 1", "import numpy as np",
                                   "@cache\ndef f(x):\n    return x", "async def f():\n    pass"])
def test_code_without_a_fence(first: str) -> None:
    assert extract_code(first) == first
    assert extract_code(f"Sure, here it is:\n\n{first}\n\nHope this helps!") == first
    assert extract_code(f"{first}\nNow call it.") == first


def test_code_without_a_fence_keeps_what_follows_it() -> None:
    code = ('import math\nLIMIT: int = 3\n\n# helper\ndef g(x):\n    """One.\n\nTwo words.\n"""\n    return x\n\n\n'
            "def f(x):\n    return g(x)\n\nprint(f(1))")
    assert extract_code(f"Code:\n{code}\n\nThis function calls g.") == code


def test_code_on_the_line_of_the_fence() -> None:
    assert extract_code("```def f(x):\n    return x + 1\n```", "f") == CODE
    assert extract_code("```python def f(x):\n    return x + 1\n```", "f") == CODE
    assert extract_code("```def f(x): return x```", "f") == "def f(x): return x"


@pytest.mark.parametrize("reply", [None, "", "   \n", "I cannot help with that.", "```python\n```", "```",
                                   "```python\n\n\n```", "class of its own, this", "from here on it is easy",
                                   "import duties apply?", "@reader: see below", "def is a keyword"])
def test_no_code_is_an_empty_string(reply: str | None) -> None:
    assert extract_code(reply, "f") == ""


def test_a_fence_behind_code_ends_the_block() -> None:
    assert extract_code(f"```python\n{CODE}```\nThat is all.", "f") == CODE
    assert extract_code(f"```python\n{CODE}``` \n", "f") == CODE


def test_a_forgotten_fence_ends_where_the_next_block_begins() -> None:
    reply = f"```python\ndef g():\n    return 0\n```python\n{CODE}\n```"
    assert extract_code(reply, "f") == CODE
    assert extract_code(reply, "g") == "def g():\n    return 0"


def test_prose_on_the_line_of_the_closing_fence_is_not_code() -> None:
    assert extract_code(f"```python\n{CODE}\n```This function adds one.\nIt is short.", "f") == CODE


def test_backticks_inside_a_line_of_code_end_nothing() -> None:
    code = "def f(x):\n    return '```' + x + '```' + '!'"
    assert extract_code(f"```python\n{code}\n```", "f") == code
    comment = "def f(x):\n    # as in ```\n    return x"
    assert extract_code(f"```python\n{comment}\n```", "f") == comment


@pytest.mark.parametrize("before", ["MAX = 3\n\n", "MAX: int = 3\n", "A = 1\nMAX = 3\n\n\n", "Here it is:\nMAX = 3\n"])
def test_constants_right_before_code_without_a_fence_belong_to_it(before: str) -> None:
    code = "def f(x):\n    return min(x, MAX)"
    assert extract_code(before + code) == before.removeprefix("Here it is:\n") + code


@pytest.mark.parametrize(("before", "taken"), [
    ("MAX = 3", True), ("import math as MAX", True), ("from math import MAX", True),
    ("# limits\nMAX = [\n    3,\n]", True),
    ("OTHER = 3", False), ("print(MAX)", False), ("MAX = 3\nprint(f(2))", False), ("def MAX(): ...", False)])
def test_a_block_of_constants_comes_along_where_they_are_used(before: str, taken: bool) -> None:
    code = "def f(x):\n    return min(x, MAX)"
    reply = f"```python\n{before}\n```\nand then\n```python\n{code}\n```"
    assert extract_code(reply, "f") == (f"{before}\n\n{code}" if taken else code)
