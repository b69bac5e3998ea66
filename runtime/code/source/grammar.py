"""The shapes in which compilers, test runners and stack traces write a place in a file.

One rule a shape, tried in order, the first that fits wins; the strict shapes stand before the loose
ones. A rule names what it finds with groups: path, line, col, symbol, sev, message.
"""

import re
from typing import Literal, NamedTuple

Kind = Literal["trace", "error", "warning", "note", "mention"]

_EXTENSIONS = (
    "py pyi pyx js jsx mjs cjs ts tsx mts cts vue svelte java kt kts scala groovy clj go rs rb "
    "rake erb c cc cpp cxx h hh hpp hxx m mm cu cs fs vb razor cshtml php phtml inc pl pm t ex "
    "exs erl swift dart lua jl hs ml mli zig nim sh bash cmake txt toml yaml yml json xml gradle"
    " sql proto"
)
SOURCE_EXTENSIONS = frozenset(_EXTENSIONS.split())

_PATH = r"(?P<path>(?:[A-Za-z]:)?[^\s:\"'()<>|\[\]]+?\.\w+)"
_AT = r":(?P<line>\d+)"
_COL = r"(?::(?P<col>\d+))?"
_SEV = r"(?P<sev>(?i:fatal error|internal compiler error|error|warning|note|info))"
_JVM = r"(?:java|kts?|scala|groovy|clj)"
_JS = r"[cm]?[jt]sx?"


class FrameRule(NamedTuple):
    """One shape: what it means and how it looks."""

    language: str  # "" where the file's extension tells
    kind: Kind  # a `sev` group overrules it
    pattern: re.Pattern[str]


def _rule(language: str, kind: Kind, pattern: str) -> FrameRule:
    return FrameRule(language, kind, re.compile(pattern))


RULES: tuple[FrameRule, ...] = (
    # Python: tracebacks (also inside an exception group's "  | "), pytest's long and short styles
    _rule(
        "python",
        "trace",
        r'^[\s|+-]*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<symbol>.+?))?\s*$',
    ),
    _rule("python", "warning", rf"^\s*{_PATH}{_AT}: (?P<message>\w*Warning\b: .*)"),
    _rule("python", "trace", rf"^(?:E\s+)?{_PATH}{_AT}: in (?P<symbol>\S+)\s*$"),
    _rule(
        "python",
        "trace",
        r"^(?P<path>(?:[A-Za-z]:)?[^\s:\"'()<>|]+\.pyx?)"
        + _AT
        + r": ?(?P<message>[A-Z]?[\w.]*)\s*$",
    ),
    # Rust before JavaScript: "at ./src/x.rs:1:2" would pass for a node frame
    _rule("rust", "trace", r"^\s+at (?P<path>\S+\.rs)" + _AT + _COL + r"\s*$"),
    _rule(
        "rust",
        "trace",
        r"^thread '(?P<symbol>[^']*)'(?: \(\d+\))? panicked at (?P<path>[^\s'\"]+)"
        + _AT
        + r":(?P<col>\d+):?\s*$",
    ),
    _rule(
        "rust",
        "trace",
        r"^thread '(?P<symbol>[^']*)' panicked at .*, (?P<path>\S+)" + _AT + r":(?P<col>\d+)\s*$",
    ),
    _rule("rust", "error", r"^\s*--> (?P<path>\S.*?)" + _AT + r":(?P<col>\d+)\s*$"),
    _rule("rust", "note", r"^\s*::: (?P<path>\S.*?)" + _AT + r":(?P<col>\d+)\s*$"),
    # .NET and the JVM
    _rule("dotnet", "trace", r"^\s*at (?P<symbol>.+?) in (?P<path>.+?):line (?P<line>\d+)"),
    _rule(
        "java",
        "trace",
        rf"^\s*(?:\[\w+\]\s+)?at (?:[\w.@-]*/+)*(?P<symbol>[\w.$<>-]+)"
        rf"\((?P<path>[\w$-]+\.{_JVM}){_AT}\)",
    ),
    _rule(
        "java",
        "error",
        r"^\[(?P<sev>ERROR|WARNING)\]\s+(?P<path>\S+\.\w+):\[(?P<line>\d+),(?P<col>\d+)\]\s*(?P<message>.*)",
    ),
    _rule(
        "java",
        "error",
        rf"^\[ERROR\]\s+(?:\w+\(.*?\)\s+)?(?P<symbol>(?:[\w$]+\.)+[\w$]+){_AT}\b(?P<message>.*)",
    ),
    _rule("java", "error", rf"^\s+(?P<message>[\w.$]+) at (?P<path>[\w$]+\.{_JVM}){_AT}\s*$"),
    _rule(
        "java",
        "error",
        r"^(?P<sev>[ew]): (?:file://)?(?P<path>\S+\.kts?):(?: \()?(?P<line>\d+)(?:, |:)"
        r"(?P<col>\d+)\)?:? (?P<message>.*)",
    ),
    # JavaScript: V8, SpiderMonkey and JavaScriptCore, node's head of an uncaught error
    _rule(
        "javascript",
        "trace",
        r"^\s*(?:\u276f |at )(?:async )?(?:(?P<symbol>[^()]*?(?: \[as [^\]]+\])?) \(?)?"
        r"(?P<path>(?:file:|webpack|https?:|node:|[A-Za-z]:[\\/]|[\w@.~/])[^()\s]*(?: [^()\s:]+)*?)"
        + _AT
        + r":(?P<col>\d+)\)?\s*,?\s*\{?$",
    ),
    _rule(
        "javascript",
        "trace",
        r"^\s*(?P<symbol>[\w$./<>*]*)@(?P<path>(?:https?|file|webpack)\S+?)" + _AT + r":\d+$",
    ),
    _rule("javascript", "trace", rf"^(?P<path>(?:file://|/|[A-Za-z]:\\).*\.{_JS}){_AT}\s*$"),
    _rule(
        "javascript",
        "error",
        rf"^(?P<path>\S+){_AT}:(?P<col>\d+) - (?P<sev>error|warning) (?P<message>TS\d+.*)",
    ),
    # Go: stack frames, test output (a bare file name), testify
    _rule("go", "trace", r"^\s+(?P<path>\S+\.(?:go|s))" + _AT + r"(?: \+0x[0-9a-f]+)?\s*$"),
    _rule("go", "error", r"^\s+(?P<path>[\w.-]+\.go)" + _AT + r": (?P<message>.*)"),
    _rule("go", "error", r"^\s*Error Trace:\s+(?P<path>\S+\.go)" + _AT),
    # Ruby
    _rule(
        "ruby",
        "trace",
        r"^\s*(?:(?:from|#|\d+:(?: from)?) )?(?P<path>[^\s:\[\]]+(?:\.\w+)?)"
        + _AT
        + r":in [`'](?P<symbol>[^']+)'(?:: (?P<message>.*))?",
    ),
    _rule("ruby", "error", r"\[(?P<path>[^\s\[\]]+\.rb)" + _AT + r"\]:?\s*$"),
    _rule("ruby", "trace", r"^\s*# (?P<path>\S+\.rb)" + _AT),
    _rule("ruby", "mention", r"^rspec (?P<path>\./\S+\.rb)" + _AT),
    # C and C++: debuggers, sanitizers, valgrind, assertions
    _rule(
        "c",
        "trace",
        r"^#\d+\s+(?:0x[0-9a-f]+ in )?(?P<symbol>\S.*?) \(.*\) at (?P<path>[^:]+)" + _AT + r"\s*$",
    ),
    _rule(
        "c",
        "trace",
        r"^\s*#\d+ 0x[0-9a-f]+ in (?P<symbol>.+?) (?P<path>[^\s:()]+)" + _AT + _COL + r"\s*$",
    ),
    _rule(
        "c",
        "trace",
        r"^==\d+==\s+(?:at|by) 0x[0-9A-F]+: (?P<symbol>.+) \((?P<path>[^():]+)" + _AT + r"\)",
    ),
    _rule(
        "c",
        "error",
        rf"^(?:\S+: )?{_PATH}{_AT}: (?P<symbol>\S.*?): (?P<message>Assertion [`'\"].*failed)",
    ),
    _rule("c", "error", rf"^{_PATH}{_AT}: (?P<message>Failure|FAILED:?)\s*$"),
    _rule("c", "error", r"^CMake (?P<sev>Error|Warning)(?: \(dev\))? at (?P<path>[^:]+)" + _AT),
    _rule("c", "note", rf"^(?:In file included|\s+) ?from {_PATH}{_AT}{_COL}[,:]"),
    _rule("c", "error", rf"(?:^|\s){_PATH}{_AT}: (?P<message>undefined reference to .*)"),
    # PHP and Perl
    _rule("php", "trace", r"^#\d+ (?P<path>.+?\.\w+)\((?P<line>\d+)\): (?P<symbol>[^(]+)"),
    _rule("php", "trace", r"^(?P<path>(?:/|[A-Za-z]:\\)\S+\.php)" + _AT + r"\s*$"),
    _rule(
        "php",
        "warning",
        r"^(?:PHP )?(?P<message>(?:Warning|Notice|Deprecated):.*) in (?P<path>\S+)"
        r" on line (?P<line>\d+)",
    ),
    _rule(
        "php",
        "trace",
        r"^(?P<message>.*) in (?P<path>\S.*?\.(?:php|phtml|inc))(?::| on line )(?P<line>\d+)\s*$",
    ),
    _rule(
        "perl",
        "trace",
        r"^(?P<message>.*?)\bat (?P<path>\S+\.(?:pl|pm|t|PL)) line (?P<line>\d+)\b",
    ),
    # What many compilers and linters share
    _rule(
        "",
        "error",
        rf"^\s*(?:\S+: )??{_PATH}\((?P<line>\d+)(?:,(?P<col>\d+))?\)\s*:\s*{_SEV}\b(?P<message>.*)",
    ),
    _rule("", "error", rf"^{_PATH}{_AT}{_COL}:\s*{_SEV}\b:?(?P<message>.*)"),
    _rule(
        "",
        "error",
        rf"^(?:vet: )?{_PATH}{_AT}:(?P<col>\d+):? (?P<message>\S.*)",
    ),
    _rule(
        "",
        "mention",
        r"(?:^|[\s\"'`(\[=])(?P<path>(?:file://)?(?:[A-Za-z]:[\\/])?[\w.@~+/\\-]+\.[A-Za-z]\w{0,9})"
        r"(?::|\((?=\d+(?:,\d+)?\)))(?P<line>\d+)(?:[:,](?P<col>\d+))?",
    ),
)

# A line without one of these holds no place; most lines of a log end here.
WORTH_A_LOOK = re.compile(r"[:(\[]\d|\bline \d|\(\.")

ESLINT_ROW = re.compile(
    r"^\s+(?P<line>\d+):(?P<col>\d+)\s+(?P<sev>error|warning)\s+(?P<message>\S.*)$"
)
ESLINT_FILE = re.compile(rf"^(?P<path>(?:/|[A-Za-z]:\\|\.{{0,2}}[\w@-])\S*\.(?:{_JS}|vue|svelte))$")
