"""Names that a failure mentions, and where a checkout defines them."""

import ast
import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from .checkout import Checkout
from .grammar import SOURCE_EXTENSIONS

MAX_NAMES = 40
MAX_CODE_CHARS = 300  # a minified bundle defines everything on one line
MAX_SCANNED_BYTES = 256_000_000
_TEST_NAMES = (
    re.compile(
        r"(?:FAILED|ERROR) (?:\S+::)+(?P<name>\w+)|^(?:\S+::)+(?P<name2>\w+)\S* (?:FAILED|ERROR)\b"
    ),
    re.compile(r"^(?:FAIL|ERROR): (?P<name>\w+) \((?P<owner>[\w.]+)\)"),
    re.compile(r"^\s*--- FAIL: (?P<name>\w+)"),
    re.compile(
        r"^test (?:\w+::)*(?P<name>\w+) \.\.\. FAILED|^-{4} (?:\w+::)*(?P<name2>\w+) stdout -{4}"
    ),
    re.compile(r"^\s*● (?:.* \u203a )?(?P<title>[^\u203a]+?)\s*$"),
    re.compile(
        r"^\s*(?:✕|✖|\u00d7|not ok \d+ -?) ?(?P<title>\S.*?)(?: \(\d+ ?ms\)| \[[\d.]+ms\])?\s*$"
    ),
    re.compile(r"^(?P<owner>\w+) > (?P<name>\w+)(?:\(\))? FAILED"),
    re.compile(r"^\[ERROR\]\s+(?:[\w.]*\.)?(?P<owner>\w+)\.(?P<name>\w+)[ :].*(?:FAILURE|ERROR)!?"),
    re.compile(r"^\[  FAILED  \] (?P<owner>\w+)\.(?P<name>\w+)"),
    re.compile(r"^(?P<name>test\w+)\((?P<owner>[\w.]+)\)"),
)
_ERROR_NAMES = (
    re.compile(r"(?P<owner>[A-Z]\w*)\.(?P<name>\w+)\(\) (?:missing|takes|got)"),
    re.compile(r"\b(?P<name>\w+)\(\) (?:missing|takes|got)"),
    re.compile(r"'(?P<owner>\w+)' object has no attribute '(?P<name>\w+)'"),
    re.compile(r"cannot import name '(?P<name>\w+)'"),
    re.compile(r"\bname '(?P<name>\w+)' is not defined"),
    re.compile(r"undefined (?:reference to|symbol:?|method) [`'\"](?P<name>[\w:~]+)"),
    re.compile(r"\bundefined: (?:\w+\.)?(?P<name>\w+)"),
    re.compile(r"\bsymbol:\s+(?:method|variable|class|constructor) (?P<name>\w+)"),
    re.compile(r"(?:^|[\s.])(?P<name>\w+) is not (?:a function|defined|a constructor)"),
    re.compile(r"cannot find (?:function|type|value|method|macro|struct)[^`]*`(?P<name>\w+)`"),
    re.compile(r"no (?:method|field|function)[^`]* named `(?P<name>\w+)`"),
    re.compile(r"Call to undefined (?:method|function) (?:[\w\\]+::)?(?P<name>\w+)"),
    re.compile(r"^\s*at (?:[\w`]+\.)*(?P<owner>[A-Z]\w*)\.(?P<name>\w+)\([^()]*\)\s*$"),
)
_LACKING = (re.compile(r"'(?P<name>\w+)'(?: object)? has no attribute '"),)
_CALL = re.compile(r"\b([A-Za-z_]\w{2,})\s*\(")
_COMMON_CALLS = (
    "assert assertEqual assert_eq expect toBe toEqual toThrow print println printf len range str "
    "int list dict set isinstance super self require import return raise throw new for while "
    "switch catch function describe it test beforeEach raises pytest main init error errorf Errorf "
    "Fatalf panic unwrap format join map filter equal equals assertEquals assertTrue assertThat "
    "deepEqual strictEqual ok vec Some None"
)
_COMMON = frozenset(_COMMON_CALLS.split())
_WORD = rb"(?<![\w$])(?:%b)(?![\w$])"
_KEYWORDS = (
    r"(?:def|class|func|fn|fun|function\*?|interface|struct|enum|union|trait|impl|type|module|object|record"
    r"|const|let|var|val|sub|namespace|#define|macro_rules!|typedef struct)"
)
_DEFINES = re.compile(
    rf"^\s*(?:(?:@\w+|export|default|pub(?:\([^)]*\))?|async|unsafe|public|private|protected|internal|static"
    rf"|final|abstract|override|suspend|open|data|sealed|extern|inline|virtual)\s+)*{_KEYWORDS}\s+"
    rf"(?:\([^)]*\)\s*)?(?:self\.|[\w.:]+(?:\.|::))?(?P<name>[\w$~]+)"
)
_C_STYLE = re.compile(
    r"^\s*(?:[A-Za-z_][\w:<>,\[\]*&?.]*\s+[*&]*)+(?:\w+::)*(?P<name>~?[A-Za-z_]\w*)\s*\([^;{}]*(?:\)[^;]*)?\{?\s*$"
)
_METHOD = re.compile(
    r"^\s*(?:async\s+|static\s+|get\s+|set\s+|\*)*(?P<name>[\w$#]+)\s*(?:\([^;]*\)\s*\{|[:=]\s*(?:async\s*)?(?:function|\([^)]*\)\s*=>|\w+\s*=>))"
)
_STATEMENTS = "if for while switch return else catch do throw new await yield with sizeof assert"
_NOT_NAMES = frozenset(_STATEMENTS.split())
_NO_DEFINITION = re.compile(
    r"\s*(?://|#include|(?:assert|await|case|del|delete|else|goto|new|raise|return|throw|yield)\s)"
)
_TITLE = r"(?:it|test|describe|context|specify|scenario|should)(?:\.\w+)*\s*\(?\s*['\"`]"
MAX_CHARS = 500_000  # what is longer was generated


class Name(Struct, frozen=True):
    """A symbol that a line of the log mentions."""

    name: str
    owner: str = ""  # class or module it belongs to, where the log says
    is_test: bool = False
    is_title: bool = False  # a sentence, as in it("adds tax")
    at: int = 0  # index of the log line


class Definition(Struct, frozen=True):
    """The line that defines a symbol."""

    name: Name
    path: str
    line: int


def find_names(lines: Sequence[str]) -> list[Name]:
    """Return the tests and symbols that *lines* name as failing or missing, first mention first."""
    found: dict[tuple[str, str], Name] = {}
    for at, line in enumerate(lines):
        line = line[:1_000]
        for patterns, is_test in ((_TEST_NAMES, True), (_ERROR_NAMES, False), (_LACKING, False)):
            for pattern in patterns:
                match = pattern.search(line)
                if match:
                    name = _name(match.groupdict(), at, is_test)
                    found.setdefault((name.owner, name.name), name)
                    break
        if len(found) >= MAX_NAMES:
            break
    return list(found.values())


def _name(groups: dict[str, str | None], at: int, is_test: bool) -> Name:
    text = groups.get("name") or groups.get("name2") or ""
    title = (groups.get("title") or "").strip()
    owner = (groups.get("owner") or "").rpartition(".")[2]
    return Name(title or text.rpartition("::")[2], owner, is_test, bool(title), at)


def called_names(code: str, at: int) -> list[Name]:
    """Return the functions that a line of code calls: what a failing assertion is about."""
    return [Name(name, at=at) for name in dict.fromkeys(_CALL.findall(code)) if name not in _COMMON]


def find_definitions(names: Iterable[Name], checkout: Checkout) -> list[Definition]:
    """Return where the checkout defines *names*; a name that nothing defines is left out."""
    wanted = {name.name: name for name in reversed(list(names)) if name.name}
    if not wanted:
        return []
    words = re.compile(_WORD % b"|".join(re.escape(name.encode()) for name in wanted))
    found: list[Definition] = []
    left_bytes = MAX_SCANNED_BYTES
    for path in checkout.files:
        if path.rpartition(".")[2].lower() not in SOURCE_EXTENSIONS or left_bytes < 0:
            continue
        data = checkout.read_bytes(path)
        left_bytes -= len(data)
        if words.search(data):
            found += _in_file(path, checkout.read_lines(path), wanted)
    return found


def _in_file(path: str, lines: Sequence[str], wanted: dict[str, Name]) -> list[Definition]:
    titles = [name for name in wanted.values() if name.is_title]
    found = []
    for number, line in enumerate(lines, start=1):
        if not any(name in line for name in wanted):
            continue
        name = wanted.get(defined_in(line))
        if name is None:
            name = next((t for t in titles if _is_title(line, t.name)), None)
        if name and _has_owner(name, lines, number, path):
            found.append(Definition(name, path, number))
    return found


def _is_title(line: str, title: str) -> bool:
    return title in line and has_title(line)


def has_title(line: str) -> bool:
    """Whether a line opens a test that a sentence names, as `it("adds tax", () => {` does."""
    return re.match(rf"\s*{_TITLE}", line) is not None


def _has_owner(name: Name, lines: Sequence[str], number: int, path: str) -> bool:
    """Whether the class that should hold a name is defined above it, or gives the file its name."""
    if not name.owner or name.owner in path or name.owner in lines[number - 1]:
        return True
    indent = _indent(lines[number - 1])
    for line in reversed(lines[: number - 1]):
        if line.strip() and _indent(line) < indent and defined_in(line):
            return defined_in(line) == name.owner
    return False


def defined_in(line: str) -> str:
    """Return the name that a line of code defines, or an empty string."""
    line = line[:MAX_CODE_CHARS]
    match = _DEFINES.match(line) or _METHOD.match(line) or _C_STYLE.match(line)
    name = match["name"] if match else ""
    return "" if name in _NOT_NAMES or _NO_DEFINITION.match(line) else name


def enclosing_symbol(lines: Sequence[str], line: int, path: str = "") -> str:
    """Return the name of the function or class around a line (1-based), or an empty string."""
    around = scope_around(lines, line, path)
    return around.name if around else ""


def scope_around(lines: Sequence[str], line: int, path: str = "") -> "Scope | None":
    """Return the innermost function or class around a line (1-based).

    Of Python, which *path* tells, the syntax is known; elsewhere indentation has to say it, and
    the scope is only known to reach the line.
    """
    if not 0 < line <= len(lines):
        return None
    if path.endswith((".py", ".pyi")):
        scopes = python_scopes("\n".join(lines))
        if scopes is not None:
            around = [scope for scope in scopes if scope.first <= line <= scope.last]
            return max(around, key=lambda scope: scope.first, default=None)
    indent = _indent(lines[line - 1])
    for number in range(line, 0, -1):
        text = lines[number - 1]
        if not text.strip() or (number != line and _indent(text) >= max(indent, 1)):
            continue
        name = defined_in(text)
        if name and not re.match(r"\s*(?:const|let|var|val)\b(?!.*(?:=>|function))", text):
            return Scope(name, number, line, number)
    return None


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


class Scope(NamedTuple):
    """A function or class; its lines count from 1, decorators and the last line included."""

    name: str
    first: int
    last: int
    head: int  # where its name stands, below its decorators


@lru_cache(maxsize=32)  # a trace comes back to the same few files
def python_scopes(text: str) -> tuple[Scope, ...] | None:
    """Return the scopes of a Python source, or nothing where it cannot be parsed."""
    if len(text) > MAX_CHARS:
        return None
    try:
        with warnings.catch_warnings():  # what the source does wrong is not ours to tell
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(
        Scope(
            node.name,
            min([node.lineno, *(each.lineno for each in node.decorator_list)]),
            node.end_lineno or node.lineno,
            node.lineno,
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
