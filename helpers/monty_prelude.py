"""What a session of Monty starts with: Python for Monty that puts right what it does otherwise, silently.

Measured with pydantic-monty 1.4.0. `map`, `filter`, `enumerate`, `zip` and `reversed` give lists there and are
iterators here; `round` is exact; a set has no order that a wrong program could lean on; a value is taken apart
before it leaves the session, because ranges, functions and modules leave it as strings. Left out: what the
session cannot put right (`helpers.dialect` refuses it).
"""

import re

from helpers.plain_data import MAX_DEPTH, MAX_INT_BITS, MAX_SIZE, PART_SIZE

# What a session starts with: the parts whose names occur in the program or in its tests, and always
# `_sandbox_plain`. Names a program may shadow (iter, next, type …) are bound as defaults before it is loaded.
ALWAYS = f'''
def _sandbox_make_plain(type, len, list, tuple, dict, set, frozenset, str, bytes, int, isinstance):
    atoms = (bool, float, complex, type(None))
    def plain(value, depth, left):
        kind = type(value)
        if kind in atoms:
            return value
        if kind is int:
            if -1e300 < value < 1e300 or -pow(2, {MAX_INT_BITS}) < value < pow(2, {MAX_INT_BITS}):
                return value
            raise LookupError('too large')
        text = kind is str or kind is bytes
        if not (text or kind is list or kind is set or kind is frozenset or isinstance(value, (tuple, dict))):
            raise LookupError('type ' + kind.__name__)
        left[0] -= len(value) * (1 if text else {PART_SIZE})
        if left[0] < 0 or depth > {MAX_DEPTH}:
            raise LookupError('too large')
        if text:
            return value
        if isinstance(value, dict):
            return {{plain(key, depth + 1, left): plain(item, depth + 1, left) for key, item in value.items()}}
        items = [item if type(item) is int and -1e300 < item < 1e300 or type(item) in atoms
                 else plain(item, depth + 1, left) for item in value]
        return items if kind is list else kind(items) if kind is set or kind is frozenset else tuple(items)
    def answer(value):
        try:
            return ('', plain(value, 0, [{MAX_SIZE}]))
        except LookupError as error:
            return (str(error), None)
    return answer
_sandbox_plain = _sandbox_make_plain(type, len, list, tuple, dict, set, frozenset, str, bytes, int, isinstance)
_sandbox_iter = iter
'''
PARTS = {
    "map": '''
class map:
    def __init__(self, function, *iterables, _iter=iter):
        if not iterables:
            raise TypeError('map() must have at least two arguments.')
        self._function = function
        self._iterators = [_iter(iterable) for iterable in iterables]
    def __iter__(self):
        return self
    def __next__(self, _next=next):
        return self._function(*[_next(iterator) for iterator in self._iterators])
''',
    "filter": '''
class filter:
    def __init__(self, function, iterable, _iter=iter):
        self._function = function
        self._iterator = _iter(iterable)
    def __iter__(self):
        return self
    def __next__(self, _next=next):
        while True:
            value = _next(self._iterator)
            if value if self._function is None else self._function(value):
                return value
''',
    "enumerate": '''
class enumerate:
    def __init__(self, iterable, start=0, _iter=iter):
        self._iterator = _iter(iterable)
        self._count = start - 1
    def __iter__(self):
        return self
    def __next__(self, _next=next):
        value = _next(self._iterator)
        self._count += 1
        return (self._count, value)
''',
    "zip": '''
class zip:
    def __init__(self, *iterables, strict=False, _iter=iter):
        self._iterators = [_iter(iterable) for iterable in iterables]
        self._strict = strict
    def __iter__(self):
        return self
    def __next__(self, _next=next, _tuple=tuple, _end=[]):
        values = []
        for iterator in self._iterators:
            value = _next(iterator, _end)
            if value is _end:
                break
            values.append(value)
        if values and len(values) == len(self._iterators):
            return _tuple(values)
        if self._strict and (values or [1 for i in self._iterators[1:] if _next(i, _end) is not _end]):
            raise ValueError('zip() arguments have different lengths')
        raise StopIteration
''',
    "_sandbox_generator": '''
class generator:
    def __init__(self, unpack, function, iterable, condition=None, _iter=iter):
        self._unpack = unpack
        self._function = function
        self._iterator = _iter(iterable)
        self._condition = condition
    def __iter__(self):
        return self
    def __next__(self, _next=next):
        while True:
            value = _next(self._iterator)
            if self._unpack:
                if self._condition is None or self._condition(*value):
                    return self._function(*value)
            elif self._condition is None or self._condition(value):
                return self._function(value)
_sandbox_generator = generator
''',
    "reversed": '''
def reversed(sequence, _iter=iter, _reversed=reversed):
    return _iter(_reversed(sequence))
''',
    "round": '''
def round(number, ndigits=None, _round=round, _float=float, _type=type):
    if ndigits is None:
        return _round(number)
    if _type(number) is _float and ndigits >= 0 and number - number == 0:
        return _float(f'{number:.{ndigits if ndigits < 323 else 323}f}')
    return _round(number, ndigits)
''',
    # A set in the order that CPython gives small integers (their place in its table); texts have no order there,
    # and get another one than that of insertion, on which no right program depends.
    "_sandbox_set": '''
def _sandbox_set(*iterables, _set=set, _sorted=sorted, _len=len, _type=type, _repr=repr):
    made = _set(*iterables)
    kinds = _set([_type(item) for item in made])
    mask = 7
    for size in range(_len(made) + 1):
        if size * 5 >= mask * 3:
            while mask + 1 <= size * 4:
                mask = mask * 2 + 1
    if kinds == {int}:
        return _set(_sorted(made, key=lambda item: (item if item != -1 else -2) & mask))
    return _set(_sorted(made, key=_repr, reverse=True)) if kinds == {str} else made
''',
    "hasattr": '''
def hasattr(value, name, _hasattr=hasattr, _type=type, _iter=iter,
            _builtin=(bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)):
    if _hasattr(value, name) or _type(value) not in _builtin:
        return _hasattr(value, name)
    if name != '__iter__':
        raise NotImplementedError('the sandbox does not yet support hasattr() of a built-in type')
    try:
        _iter(value)
    except TypeError:
        return False
    return True
''',
    "locals": '''
def locals():
    raise NotImplementedError('the sandbox does not yet support the built-in locals')
''',
    # In the session of the code: what an iterator or a view gives, for a test that goes on with it.
    "_sandbox_drawn": f'''
def _sandbox_drawn(value, _plain=_sandbox_plain, _iter=iter):
    answer = _plain(value)
    if answer[0][:4] != 'type':
        return answer
    kind = answer[0][5:]
    if kind not in ('dict_keys', 'dict_values', 'dict_items', 'range'):
        try:
            if _iter(value) is not value:
                return answer
        except TypeError:
            return answer
        kind = 'iterator'
    items = []
    for item in value:
        items.append(item)
        if len(items) > {MAX_SIZE // PART_SIZE}:
            break
    reason, items = _plain(items)
    return (reason or kind, items)
''',
    # In the session of the test: a call of the code, which runs in another one; `_sandbox_host` carries it.
    "_sandbox_call": '''
def _sandbox_call(index, *bound):
    def ask(args):
        refused, given = _sandbox_plain((bound, args))
        if refused:
            raise NotImplementedError('the sandbox does not yet support handing a function of the test to the code')
        kind, value = _sandbox_host(index, given[0], given[1])
        if kind == 'function':
            return lambda *args: ask(args)
        if kind == 'iterator':
            return _sandbox_iter(value)
        if kind == 'range':
            step = value[1] - value[0] if len(value) > 1 else 1
            return range(value[0], value[-1] + step, step) if value else range(0)
        if kind == 'dict_keys':
            return {key: None for key in value}.keys()
        if kind == 'dict_items':
            return {key: item for key, item in value}.items()
        return {place: item for place, item in [*enumerate(value)]}.values() if kind == 'dict_values' else value
    return ask(None)
''',
}
DRAWN = ("iterator", "range", "dict_keys", "dict_values", "dict_items")  # what `_sandbox_drawn` takes apart


def parts_of(source: str) -> frozenset[str]:
    """The parts of the prelude that `source` needs, by name.

    >>> sorted(parts_of("def f(xs): return list(map(str, zip(xs)))"))
    ['map', 'zip']
    """
    return frozenset(PARTS.keys() & set(re.findall(r"\w+", source)))
