"""What source texts import, and what manifests of packages depend on."""

import ast
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from textwrap import dedent
from typing import Any, Final

from .build_files import container_names, makefile_names, yaml_names
from .commands import Named, command_names, without_version

_LARGEST: Final = 500_000  # characters that are looked at
_PYTHON: Final = re.compile(
    r"^\s*(?:import\s+([\w., ]+)|from\s+(\w[\w.]*)\s+import\b)", re.MULTILINE
)
_JS_COMMENTS: Final = re.compile(r"/\*.*?\*/|(?<![:'\"\w])//[^\n]*", re.DOTALL)
_JS: Final = re.compile(
    r"(?:^|[;{}\n])\s*(?:import|export)\b[^'\"\n;]*?['\"]([^'\"\n]+)['\"]"
    r"|\b(?:require|import)\(\s*['\"]([^'\"\n]+)['\"]"
)
_COMMENTS: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_GO: Final = re.compile(r"^\s*(?:import\s+)?(?:[\w.]+\s+)?\"([^\"\n]+)\"\s*$", re.MULTILINE)
_GO_BLOCK: Final = re.compile(r"import\s*\(([^)]*)\)|^\s*(import\s[^\n(]*)$", re.MULTILINE)
_RUST: Final = re.compile(r"^\s*(?:pub\s+)?(?:use|extern\s+crate)\s+(?:::)?(\w+)", re.MULTILINE)
_RUBY: Final = re.compile(r"^\s*require\s*\(?\s*['\"]([^'\"\n]+)['\"]", re.MULTILINE)
_JAVA: Final = re.compile(r"^\s*import\s+(?:static\s+)?([\w.]+)", re.MULTILINE)
_C: Final = re.compile(r"^\s*#\s*include\s*[<\"]([\w./+-]+?)(?:\.h(?:pp|h)?)?[>\"]", re.MULTILINE)
_GEM: Final = re.compile(r"^\s*gem\s+['\"]([^'\"\n]+)['\"]", re.MULTILINE)
_ARTIFACT: Final = re.compile(
    r"<dependency>(?:(?!</dependency>).)*?<artifactId>\s*([^<\s]+)", re.DOTALL
)
_XML_COMMENTS: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_GRADLE: Final = re.compile(
    r"^\s*(?:implementation|api|compileOnly|runtimeOnly|testImplementation)[\s(]+['\"]([^'\"]+)",
    re.MULTILINE,
)
_GO_MOD: Final = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[a-z]+/[^\s]+)\s+v", re.MULTILINE)
_YAML_ITEM: Final = re.compile(r"^\s*-\s*['\"]?([\w.-]+)", re.MULTILINE)


def source_names(path: str, text: str) -> Iterator[Named]:
    """What the source or manifest at *path* imports, runs or depends on, with the line of each."""
    text = text[:_LARGEST]
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    reader = _manifest(name) or _LANGUAGES.get(name.rpartition(".")[2])
    if reader is None:
        return
    for found in dict.fromkeys(reader(text)):
        yield found, _line_with(text, found)


def _line_with(text: str, name: str) -> str:
    tail = name.rpartition("/")[2] if "/" in name else name
    found = next((line for line in text.split("\n") if name in line), "")
    return (found or next((line for line in text.split("\n") if tail in line), name)).strip()


def _python(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        for found in _PYTHON.finditer(text):
            for each in (found[1] or found[2] or "").split(","):
                yield from _packages(each.strip().partition(" ")[0])
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _packages(each.name)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from _packages(node.module or "")


def _packages(name: str) -> Iterator[str]:
    if name:
        yield name
        yield name.partition(".")[0]


def _javascript(text: str) -> Iterator[str]:
    for found in _JS.finditer(_JS_COMMENTS.sub(" ", text)):
        name = found[1] or found[2]
        if not name.startswith((".", "/")):
            yield name
            yield "/".join(name.split("/")[: 2 if name.startswith("@") else 1])


def _go(text: str) -> Iterator[str]:
    for block in _GO_BLOCK.finditer(_COMMENTS.sub(" ", text)):
        for found in _GO.finditer(block[1] or block[2] or ""):
            yield found[1]
            yield from found[1].split("/")


def _java(text: str) -> Iterator[str]:
    for found in _JAVA.finditer(_COMMENTS.sub(" ", text)):
        yield from found[1].split(".")


def _c(text: str) -> Iterator[str]:
    for found in _C.finditer(_COMMENTS.sub(" ", text)):
        yield found[1]
        yield found[1].partition("/")[0]


def _matches(pattern: re.Pattern[str], comments: re.Pattern[str] | None = None) -> "Reader":
    def read(text: str) -> Iterator[str]:
        bare = comments.sub(" ", text) if comments is not None else text
        for found in pattern.finditer(bare):
            yield without_version(found[1])
            yield from found[1].split("/")

    return read


def _shell(text: str) -> Iterator[str]:
    yield from (name for name, _ in command_names(text))


def _requirements(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        bare = line.partition("#")[0].strip()
        if bare and not bare.startswith("-"):
            yield without_version(bare.partition(" ")[0])


def _package_json(text: str) -> Iterator[str]:
    found = _loaded(json.loads, text)
    for key in (
        *("dependencies", "devDependencies", "peerDependencies", "optionalDependencies"),
        *("require", "require-dev"),  # of composer.json
    ):
        yield from _keys(found.get(key))
    scripts = found.get("scripts")
    for script in scripts.values() if isinstance(scripts, dict) else ():
        yield from _shell(str(script))


def _toml(text: str) -> Iterator[str]:
    found = _loaded(tomllib.loads, text)
    project, tool = _map(found.get("project")), _map(found.get("tool"))
    yield from _specifiers(project.get("dependencies"))
    for extra in _map(project.get("optional-dependencies")).values():
        yield from _specifiers(extra)
    for group in _map(found.get("dependency-groups")).values():
        yield from _specifiers(group)
    yield from _specifiers(_map(found.get("build-system")).get("requires"))
    poetry = _map(tool.get("poetry"))
    for part in (poetry, *map(_map, _map(poetry.get("group")).values()), found):
        for key in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from _keys(part.get(key))


def _environment(text: str) -> Iterator[str]:
    behind = text.partition("dependencies:")[2]
    yield from (found[1] for found in _YAML_ITEM.finditer(re.sub(r"#[^\n]*", "", behind)))


def _loaded(load: Callable[[str], Any], text: str) -> dict[str, Any]:
    try:
        return _map(load(text))
    except (ValueError, RecursionError):
        return {}


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _keys(value: Any) -> Iterator[str]:
    yield from _map(value)


def _specifiers(value: Any) -> Iterator[str]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, str):
            yield without_version(each.partition(" ")[0])


Reader = Callable[[str], Iterator[str]]
_LANGUAGES: Final[dict[str, Reader]] = {
    **dict.fromkeys(("py", "pyi", "pyw", "python"), _python),
    **dict.fromkeys(("js", "jsx", "ts", "tsx", "mjs", "cjs"), _javascript),
    **dict.fromkeys(("javascript", "typescript", "node"), _javascript),
    **dict.fromkeys(("go", "golang"), _go),
    **dict.fromkeys(("rs", "rust"), _matches(_RUST, _COMMENTS)),
    **dict.fromkeys(("rb", "ruby"), _matches(_RUBY)),
    **dict.fromkeys(("java", "kt", "scala", "kotlin"), _java),
    **dict.fromkeys(("c", "h", "cc", "cpp", "hpp", "cxx", "c++"), _c),
    **dict.fromkeys(("sh", "bash", "zsh", "shell"), _shell),
    **dict.fromkeys(("yml", "yaml"), yaml_names),
    **dict.fromkeys(("makefile", "make", "mk"), makefile_names),
    **dict.fromkeys(("dockerfile", "containerfile"), container_names),
}


def _manifest(name: str) -> Reader | None:
    if name.startswith("requirements") and name.endswith((".txt", ".in")):
        return _requirements
    if name in ("environment.yml", "environment.yaml"):
        return _environment
    if name.startswith("build.gradle"):
        return _matches(_GRADLE, _COMMENTS)
    first = name.partition(".")[0]
    if first in ("makefile", "gnumakefile"):
        return makefile_names
    if first in ("dockerfile", "containerfile"):
        return container_names
    return _MANIFESTS.get(name)


_MANIFESTS: Final[dict[str, Reader]] = {
    "package.json": _package_json,
    "composer.json": _package_json,
    "pyproject.toml": _toml,
    "cargo.toml": _toml,
    "go.mod": _matches(_GO_MOD, _COMMENTS),
    "gemfile": _matches(_GEM),
    "pom.xml": _matches(_ARTIFACT, _XML_COMMENTS),
}
