"""What a logged path says about itself, before any checkout is looked at."""

import re
from urllib.parse import unquote

_SCHEME = re.compile(
    r"^(?:file://(?:localhost)?|webpack(?:-internal)?://[^/]*/|https?://[^/]+/)", re.IGNORECASE
)
_DRIVE = re.compile(r"^/?[A-Za-z]:(?=/)")
_LIBRARY = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|\.cargo/registry|\.cargo/git|rustc/[0-9a-f]{8,}"
    r"|rustlib/src|pkg/mod|go/src/(?:runtime|testing|net|fmt)|libexec/src|usr/include|usr/lib\w*"
    r"|lib/python\d[\d.]*|lib/ruby|gems/[\w.-]+|vendor|third_party|bower_components|\.m2/repository"
    r"|\.gradle/caches|\.pub-cache|\.nuget/packages|sysdeps|csu|libsanitizer|googletest)/"
    r"|^node:|^internal/|^<|^usr/local/go/src/"
)
_INSTALLED = re.compile(r"^.*/(?:site-packages|dist-packages)/")
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|t|e2e)/|(?:^|/)(?:test_|conftest\.)[^/]*$"
    r"|[._-](?:test|tests|spec)\.\w+$|(?:Test|Tests|TestCase|Spec|IT)\.\w+$"
)


def normalise(path: str) -> str:
    """Return *path* with forward slashes and without scheme, drive, query and leading dots.

    A leading slash is dropped too: what counts is the order of the names.
    """
    text = _SCHEME.sub("", path.strip().strip("\"'"))
    if text != path:
        text = unquote(text)
    text = text.replace("\\", "/").split("?", 1)[0].split("#", 1)[0]
    text = _DRIVE.sub("", text)
    parts: list[str] = []
    for part in text.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


def is_library(path: str) -> bool:
    """Whether a normalised path lies in a dependency, a standard library or a run-time."""
    return _LIBRARY.search(path) is not None


def installed_name(path: str) -> str:
    """Return what follows `site-packages/`, or an empty string."""
    match = _INSTALLED.match("/" + path)
    return ("/" + path)[match.end() :] if match else ""


def is_test(path: str) -> bool:
    """Whether a path inside a checkout looks like a test's."""
    return _TEST.search(path) is not None
