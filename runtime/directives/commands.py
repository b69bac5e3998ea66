"""The command words of shell text, and the packages that its commands install."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

Named = tuple[str, str]  # a name, and the line that it stands in

_SEPARATORS: Final = frozenset("();<>|&")
_RESERVED: Final = frozenset(
    {"!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "in"}
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
# What runs another command, with its options that take a value.
_WRAPPERS: Final = {
    "sudo": ("-u", "-g", "-h", "-p", "-C", "-U", "--user", "--group", "--host", "--chdir"),
    "doas": ("-u",),
    "env": ("-u", "-C", "--unset", "--chdir"),
    "ssh": (
        *("-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o"),
        *("-p", "-Q", "-R", "-S", "-W", "-w"),
    ),
    "flock": ("-w", "-E", "--timeout", "--wait"),
    "chroot": (),
    "parallel": ("-j", "--jobs", "-a", "--arg-file", "-n"),
    "runuser": ("-u", "--user", "-g", "--group"),
    "gosu": (),
    "su-exec": (),
    "strace": ("-o", "-e", "-p", "-u"),
    "unbuffer": (),
    "fakeroot": (),
    "systemd-run": ("-p", "--property", "-u", "--unit"),
    "chronic": (),
    "xargs": ("-n", "-I", "-P", "-L", "-d", "-a"),
    "nice": ("-n",),
    "nohup": (),
    "exec": ("-a",),
    "time": ("-o", "-f"),
    "command": (),
    "builtin": (),
    "npx": ("-p", "--package"),
    "bunx": (),
    "uvx": ("--from", "--with"),
    "stdbuf": ("-i", "-o", "-e"),
    "timeout": ("-s", "--signal", "-k", "--kill-after"),
    "watch": ("-n", "--interval"),
    "setsid": (),
    "ionice": ("-c", "-n", "--class", "--classdata"),
    "eval": (),
    "trap": (),
    "coproc": (),
    "unshare": (),
    "busybox": (),
    "screen": ("-S", "-c", "-T"),
}
# Words of a wrapper itself, before what it runs.
_BEFORE: Final = {"timeout": 1, "ssh": 1, "flock": 1, "chroot": 1, "gosu": 1, "su-exec": 1}
_EVALUATE: Final = frozenset({"eval", "watch", "ssh", "trap"})  # their words are shell text
_RUNNERS: Final = frozenset({"poetry", "uv", "pipenv", "pdm", "hatch", "rye"})  # `poetry run X`
_EXEC: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # of `find`
_SCRIPT: Final = re.compile(r"-[a-z]*c")  # `-c`, `-lc`: the next word is shell text
_QUOTED: Final = re.compile(r"""'[^']*'|"((?:\\.|[^"\\])*)\"""")  # group 1: in double quotes
_SUBSTITUTED: Final = re.compile(r"\$\(([^()]*)\)")  # runs in double quotes, too
_REDIRECTION: Final = re.compile(r"&?[<>]{1,3}[&|]?")  # and not `<(`, which runs a command
_LOOKS: Final = frozenset({"-v", "-V"})  # of `command`: it only looks where a command is
_SHELLS: Final = frozenset(
    {"sh", "bash", "zsh", "dash", "ksh", "ash", "su", "script", "powershell", "pwsh"}
)
_READS_SCRIPTS: Final = _SHELLS - {"script"} | {"ssh"}
_INSTALLS: Final = {
    "pip": ("install", "download"),
    "pip3": ("install", "download"),
    "npm": ("install", "i", "add"),
    "pnpm": ("install", "i", "add"),
    "yarn": ("add",),
    "bun": ("add", "install"),
    "poetry": ("add",),
    "uv": ("add",),
    "pdm": ("add",),
    "pipenv": ("install",),
    "pipx": ("install",),
    "cargo": ("add", "install"),
    "apt": ("install",),
    "apt-get": ("install",),
    "apk": ("add",),
    "dnf": ("install",),
    "yum": ("install",),
    "brew": ("install",),
    "gem": ("install",),
    "go": ("get", "install"),
    "conda": ("install", "create"),
    "mamba": ("install", "create"),
    "composer": ("require",),
    "bundle": ("add",),
}
_WITH_VALUE: Final = frozenset(
    {"-r", "--requirement", "-c", "--channel", "-t", "--target", "-i", "--index-url", "-e", "-n"}
)
_VERSION: Final = re.compile(r"(?<=.)[@=<>~!\[;].*\Z", re.DOTALL)
_LARGEST: Final = 200_000  # characters of shell text that are looked at
_DEEPEST: Final = 4  # shells in shells
_MOST_WRAPPERS: Final = 1_000  # of one command: each costs a copy of the words behind it


def command_names(text: str, depth: int = 0) -> Iterator[Named]:
    """Each command word of *text*, and each package that a command installs, with its line."""
    lines = text[:_LARGEST].replace("\\\n", " ").split("\n")
    last = {each.strip("\t"): number for number, each in enumerate(lines)}
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        found = [
            name
            for words in (*_simple_commands(line), *_substituted(line))
            for name in _names(words, depth)
        ]
        yield from ((name, line.strip()) for name in found)
        if "<<" not in line:
            continue
        given, behind = _input(line)
        if behind and last.get(behind, 0) >= number:  # else what follows are commands
            begin = number
            while lines[number].strip("\t") != behind:
                number += 1
            given, number = "\n".join(lines[begin:number]), number + 1
        # To a shell, it is a script; to any other command, a text.
        if given and depth < _DEEPEST and not _READS_SCRIPTS.isdisjoint(found):
            yield from command_names(given, depth + 1)


def _input(line: str) -> tuple[str, str]:
    """What *line* gives its command as input, and the line that ends it if it stands behind."""
    words = _words(line, sure=True)
    at = next((n for n, each in enumerate(words[:-1]) if each in ("<<", "<<<")), None)
    if at is None or any("((" in each for each in words[:at]):  # `1 << 2` shifts
        return "", ""
    return (words[at + 1], "") if words[at] == "<<<" else ("", words[at + 1].removeprefix("-"))


def without_version(name: str) -> str:
    """*name* of a package, without the version, extras and markers behind it."""
    return _VERSION.sub("", name.strip().strip("\"'"))


def _simple_commands(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    tokens = iter(_words(line))
    for word in tokens:
        if _REDIRECTION.fullmatch(word):
            next(tokens, None)  # the file
            if words and words[-1].isdigit():
                words.pop()
        elif word and set(word) <= _SEPARATORS:
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _substituted(line: str) -> Iterator[list[str]]:
    """The commands in the double quotes of *line*."""
    if '"' not in line or "$(" not in line:
        return
    for quoted in _QUOTED.findall(line):
        for inner in _SUBSTITUTED.findall(quoted):
            yield from _simple_commands(inner)


def _words(line: str, *, sure: bool = False) -> list[str]:
    """The words of *line*; if it has an open quote, roughly, or none where they must be *sure*."""
    if line.lstrip().startswith("#"):
        return []
    lexer = shlex.shlex(line.replace("`", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quote is not closed on this line
        return [] if sure else re.findall(r"[();<>|&]+|[^\s();<>|&]+", line)


def _names(words: Sequence[str], depth: int) -> Iterator[str]:
    rest = _without_reserved(list(words))
    for _ in range(_MOST_WRAPPERS):
        if not rest:
            return
        word, rest = rest[0].rpartition("/")[2], rest[1:]
        yield word
        if word.lower().endswith(".exe"):
            yield word[:-4]
        text = _shell_text(word, rest)
        if text is not None:
            if depth < _DEEPEST:
                yield from (name for name, _ in command_names(text, depth + 1))
            return
        if (word.startswith("python") and rest[:1] == ["-m"]) or rest[:1] == ["dlx"]:
            rest = rest[1:]
        elif word in _WRAPPERS and not (word == "command" and set(rest[:1]) <= _LOOKS):
            rest = _wrapped(word, rest)
        elif word == "find":
            rest = next((rest[n + 1 :] for n, each in enumerate(rest) if each in _EXEC), [])
        elif word in _RUNNERS and rest[:1] == ["run"]:
            rest = rest[1:]
        elif word == "uv" and rest[:1] == ["pip"]:
            continue
        else:
            yield from _installed(word, rest)
            return


def _shell_text(word: str, rest: Sequence[str]) -> str | None:
    """The text that *word* has a shell run; None if it is no such command."""
    if word in _EVALUATE:
        return " ".join(_wrapped(word, list(rest)))
    if word in _SHELLS:
        at = next((n for n, each in enumerate(rest) if _SCRIPT.fullmatch(each)), None)
        return None if at is None else "".join(rest[at + 1 : at + 2])
    if word == "env" and rest[:1] in (["-S"], ["--split-string"]):
        return " ".join(rest[1:])
    return None


def _without_reserved(words: list[str]) -> list[str]:
    while words and (words[0] in _RESERVED or words[0] == "$" or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    return words


def _wrapped(word: str, rest: list[str]) -> list[str]:
    """What a wrapper runs."""
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0])):
        rest = rest[2:] if rest[0] in _WRAPPERS[word] else rest[1:]
    return rest[_BEFORE.get(word, 0) :]


def _installed(word: str, rest: Sequence[str]) -> Iterator[str]:
    verbs = _INSTALLS.get(word, ())
    place = next((n for n, each in enumerate(rest) if not each.startswith("-")), None)
    if place is None or rest[place] not in verbs:
        return
    skip = False
    for each in rest[place + 1 :]:
        if not skip and not each.startswith("-"):
            name = without_version(each)
            yield name
            if word == "go":
                yield from name.split("/")
        # A channel, a file, an index: no package. In npm, -i and -c have no value.
        skip = each in _WITH_VALUE and word not in ("npm", "pnpm", "yarn", "bun")
