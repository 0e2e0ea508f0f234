"""Small packages with known figures; each tells one definition of a column from others."""

from collections.abc import Mapping

from code_metrics.columns import Figures

NESTED = """
def flat(x):
    if x == 1:
        return 1
    elif x == 2:
        return 2
    elif x == 3:
        return 3

def deep(xs):
    for x in xs:
        with x:
            def inner():
                try:
                    pass
                finally:
                    pass
"""
BRANCHES = """
def all_of_them(a, b, c):
    if a and b and c or a:  # if 1, and 2, or 1
        pass
    for x in [y for y in a if y if b]:  # for 1, comprehension 3
        while x:  # 1
            x = 1 if x else 2  # 1
    try:
        pass
    except ValueError:  # 1
        with a:
            assert b
    match a:
        case 1:  # 1
            pass
        case _:  # 1
            pass
    def nested():
        if a:
            pass
"""
DOCUMENTED = '''"""Module.

More of it.
"""

FIELD = 1
"""An attribute."""
'''
SIGNATURES = """
class Thing:
    def method(self, a, /, b, *args, key, **more): ...
    @classmethod
    def made(cls): ...
def function(first, second, third, fourth, fifth, sixth): ...
"""
NAMES = """
class Known:
    def __init__(self): ...
    def _inner_one(self): ...
    def public(self): ...
def __odd(): ...
"""
USES = """
def _never(): ...
def _once(): ...
def _twice(): ...
def _as_attribute(self): ...
_once()
_twice(_twice)
x._as_attribute
x._as_attribute
"""
CALLERS = """
def once(): ...
def twice(): ...
def never(): ...
def never_either(): ...
def in_three_places(): ...
class Other:
    def in_three_places(self): ...
    def __call__(self): ...
class Third:
    def in_three_places(self): ...
once()
twice(twice)
in_three_places
x.__call__
def _helper(): ...
"""
IMPORTS = {
    "__init__.py": "from pkg.low import name",
    "low.py": "def late():\n    from . import high",
    "high.py": "if TYPE_CHECKING:\n    from pkg.sub.deep import Deep",
    "sub/__init__.py": "",
    "sub/deep.py": "from .. import low\nimport pkg.sub\nimport json",
    "lonely.py": "import pkg.sub.deep.nothing, os.path",
}
PROSE = '''"""Whoever reads: what for?"""

class Door:
    """What a door is."""

    width: int
    """Who measures it."""

    def opened(self):
        """Open it anew, and\\n    which is not the first word."""

    def shut(self):
        """how it is shut, where nobody stands in it, who knows."""

    def __len__(self):
        """Whatever the length is."""
'''
BANNED = '''"""Nobody is here."""

value = 1  # whoever asks
"""Stands behind `nobody`."""

def check(value):
    """Check it."""
    # There is no comment
    # that is
    # no comment.
    raise ValueError(f"{value} is no number")
'''


def lines(count: int) -> str:
    """A source of so many lines."""
    return "x\n" * count


def function(count: int) -> str:
    """A function of so many lines."""
    return f"def f{count}():\n" + "    x\n" * (count - 1)


CASES: dict[str, tuple[Mapping[str, str], str, Figures]] = {
    "files, those of hidden folders left out": (
        {"a.py": "", "sub/b.py": "", ".old/c.py": "", "note.txt": ""},
        "files",
        (2,),
    ),
    "lines end with a line feed only": (
        {"a.py": "x\n\n'''\x0c'''\n", "b.py": "", "c.py": "x"},
        "lines",
        (4,),
    ),
    "nodes without docstrings and contexts": (
        {"a.py": '"""Doc."""\nx = 1\n"""Doc."""\n'},
        "AST nodes",
        (4,),
    ),
    "functions, nested ones and methods": ({"a.py": NESTED + SIGNATURES}, "functions", (6,)),
    "function lines without decorator and docstring, blank lines counted": (
        {"a.py": '@first\n@second\ndef f():\n    """A.\n\n    B.\n    """\n    x\n\n    y\n'},
        "function lines p50 / p90 / max",
        (4, 4, 4),
    ),
    "percentiles are interpolated": (
        {"a.py": "".join(function(count) for count in (2, 4, 14))},
        "function lines p50 / p90 / max",
        (4, 12, 14),
    ),
    "the limits of 30 and 60 lines are allowed": (
        {"a.py": "".join(function(count) for count in (30, 31, 60, 61))},
        "functions > 30 / > 60 lines",
        (3, 1),
    ),
    "file lines": (
        {"a.py": lines(10), "b.py": lines(20), "c.py": lines(40)},
        "file lines p50 / p90 / max",
        (20, 36, 40),
    ),
    "short files, __init__.py never among them": (
        {"__init__.py": "", "a.py": lines(69), "b.py": lines(70), "c.py": ""},
        "files under 70 lines, %",
        (50,),
    ),
    "folders, __init__.py counted": (
        {"__init__.py": "", "a.py": "", "sub/__init__.py": "", "sub/b.py": "", "sub/c.py": ""},
        "folders; files per folder p50 / max",
        (2, 2.5, 3),
    ),
    "fan-out": (IMPORTS, "fan-out p50 / p90 / max", (1, 1.5, 2)),
    "fan-in": (IMPORTS, "fan-in p50 / p90 / max", (1, 2, 2)),
    "a cycle through a late import and one for type checking": (
        IMPORTS,
        "largest import cycle",
        (3,),
    ),
    "an import of itself is not counted": (
        {"a.py": "import pkg.a, pkg.b", "b.py": ""},
        "fan-out p50 / p90 / max",
        (0.5, 0.9, 1),
    ),
    "no cycle": ({"a.py": "import pkg.b", "b.py": "import pkg.b"}, "largest import cycle", (1,)),
    "an elif is as deep as its if, a nested function is a level": (
        {"a.py": NESTED},
        "nesting p90 / max",
        (3.4, 4),
    ),
    "parameters without self, cls and **": (
        {"a.py": SIGNATURES},
        "parameters p50 / p90 / max",
        (4, 5.6, 6),
    ),
    "each kind of branch, those of a nested function left out": (
        {"a.py": BRANCHES},
        "cyclomatic p90 / max",
        (12.8, 14),
    ),
    "docstring lines, with their blank lines and those of attributes": (
        {"a.py": DOCUMENTED},
        "docstring lines, %",
        (100 * 5 / 6,),
    ),
    "comment lines, not those beside code or in a string": (
        {"a.py": "# A\nx  # B\n\n'''\n# C\n'''\n    # D\n"},
        "comment lines, %",
        (100 * 2 / 6,),
    ),
    "public names": (
        {
            "__init__.py": "__all__ = ['a', 'b', 'c']\ndef _private(): ...",
            "a.py": "class A:\n    def method(self): ...\nx = 1\nasync def f(): ...",
            "sub/__init__.py": "__all__ = ['d']",
        },
        "public names of root / public definitions",
        (3, 2),
    ),
    "public names with an annotation": (
        {"__init__.py": "__all__: tuple[str, ...] = ('a',)"},
        "public names of root / public definitions",
        (1, 0),
    ),
    "functions per code line, docstrings among the lines": (
        {"a.py": '"""A.\n\nB.\n"""\n# C\n\ndef f():\n    return 1\n'},
        "functions per 1,000 code lines",
        (200,),
    ),
    "private functions, magic methods and mangled names are none": (
        {"a.py": NAMES},
        "private functions, %",
        (25,),
    ),
    "private functions that their file uses at most once": (
        {"a.py": USES, "b.py": "from pkg.a import _once\n_once()"},
        "private functions with one use, % of all functions",
        (50,),
    ),
    "one caller, whatever the name": (
        {
            "a.py": CALLERS,
            "b.py": "def across(): ...",
            "c.py": "from pkg.b import across\nacross()",
        },
        "functions with one caller / of them private",
        (3, 1),
    ),
    "characters without indentation, docstrings and comments": (
        {"a.py": '"""Long docstring."""\n# Long comment\nif 1:\n    ab\n\n    abcd\n'},
        "characters a code line",
        ((5 + 2 + 4) / 3,),
    ),
    "code lines over 88 columns, indentation counted": (
        {"a.py": f'if 1:\n    {"x" * 84}\n    {"x" * 85}\n    """{"x" * 99}"""\n# {"x" * 99}\n'},
        "code lines over 88 columns, %",
        (100 / 3,),
    ),
    "words of names, magic methods among them": (
        {"a.py": "def _read_one_line(): ...\ndef __init__(): ...\n"},
        "words per function name",
        (2,),
    ),
    "the last word of a file name decides": (
        {
            "__init__.py": "",
            "reading.py": "",
            "_parking_lot.py": "",
            "late_binding.py": "",
            "wing/a.py": "",
        },
        "gerund file names / named files",
        (2, 4),
    ),
    "docstrings without those of attributes": ({"a.py": PROSE}, "docstrings", (5,)),
    "relative clauses at the beginning": (
        {"a.py": PROSE},
        "docstrings that begin with a relative clause, %",
        (40,),
    ),
    "pronouns": (
        {"a.py": PROSE},
        "nobody, somebody, anybody, everybody, whoever, who, whom per 1,000 docstrings",
        (600,),
    ),
    "words of the style guide": (
        {"a.py": PROSE},
        "nobody, somebody, whoever, anew in docstrings",
        (3,),
    ),
    "banned words in docstrings, comments and messages": (
        {"a.py": BANNED},
        "banned words by the rule: all texts / docstrings",
        (5, 2),
    ),
}
