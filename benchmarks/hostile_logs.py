"""Generates logs of a given size that are as expensive as possible to read, for `bench_triage`."""

import random
from collections.abc import Callable, Iterator

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _same(line: str) -> Callable[[int], Iterator[str]]:
    def lines(size_bytes: int) -> Iterator[str]:
        wide = line + "\n"
        times = max(1, (1 << 16) // len(wide.encode()))
        block = wide * times
        for _ in range(size_bytes // len(block.encode()) + 1):
            yield block

    return lines


def _one_line(piece: str) -> Callable[[int], Iterator[str]]:
    def lines(size_bytes: int) -> Iterator[str]:
        block = piece * max(1, (1 << 16) // len(piece.encode()))
        for _ in range(size_bytes // len(block.encode()) + 1):
            yield block

    return lines


def _numbered(pattern: str) -> Callable[[int], Iterator[str]]:
    def lines(size_bytes: int) -> Iterator[str]:
        written = number = 0
        while written < size_bytes:
            number += 1
            line = pattern.format(n=number, w=_word(number)) + "\n"
            written += len(line)
            yield line

    return lines


def _word(number: int) -> str:
    """A name without digits, another one for every number."""
    letters = ""
    while number:
        number, rest = divmod(number, 26)
        letters += _LETTERS[rest]
    return letters


def _random(alphabet: str, width: int) -> Callable[[int], Iterator[str]]:
    def lines(size_bytes: int) -> Iterator[str]:
        rng = random.Random(3)
        block = "".join(
            "".join(rng.choices(alphabet, k=width)) + "\n" for _ in range(max(1, 60_000 // width))
        )
        for _ in range(size_bytes // len(block) + 1):
            yield block

    return lines


HOSTILE: dict[str, Callable[[int], Iterator[str]]] = {
    "one line of one letter": _one_line("a"),
    "one line of words": _one_line("error: it failed, "),
    "one line of spaces": _one_line(" "),
    "one line of escapes": _one_line("\x1b[31m"),
    "one line of open escapes": _one_line("\x1b]0;"),
    "one line of progress": _one_line("error 50% \r"),
    "one line of digits": _one_line("7"),
    "one line of brackets": _one_line("({["),
    "one line of emoji": _one_line("\U0001f4a5"),
    "all 'error: x'": _same("error: x"),
    "all 'a'": _same("a"),
    "all empty": _same(""),
    "all 'FAIL'": _same("FAIL"),
    "20,000 of one letter": _same("a" * 20_000),
    "20,000 letters after 'error: '": _same("error: " + "a" * 20_000),
    "2,000 spaces": _same(" " * 2_000),
    "2,000 dots, FAILED": _same("." * 1_990 + " FAILED"),
    "1,990 of '::a', FAILED": _same("a::" * 660 + "b FAILED"),
    'File "x", line 1': _same('File "x", line 1'),
    "tracebacks": _same('Traceback (most recent call last):\n  File "x", line 1\nE: x'),
    "Traceback only": _same("Traceback (most recent call last):"),
    "braces": _same("{}" * 40),
    "escapes": _same("\x1b[0m" * 20),
    "open escapes": _same("\x1b]0;x" * 20),
    "bare escapes": _same("\x1b" * 80),
    "quotes": _same("'\"" * 40 + "'"),
    "progress": _same("error 50%\r" * 200),
    "stamps": _same("2024-03-02T10:11:12.123Z " * 4),
    "distinct tests": _numbered("FAILED tests/test_{w}.py::test_{w}_{n} - assert {n} == 0"),
    "distinct tests of one name": _numbered("FAILED tests/test_{w}.py::test_x - assert 1 == 0"),
    "distinct errors": _numbered("error: the {w} is broken"),
    "distinct errors, indented": _numbered("error: {w}\n    at {w}.py:{n}"),
    "distinct sections": _numbered("_______ test_{w} _______\nE   AssertionError: {w}"),
    "distinct crashes": _numbered("panic: {w}\n\tat {w}.go:{n}"),
    "distinct weak lines": _numbered("cannot {w} whether it is so"),
    "numbered failures": _numbered("  1) {w}:"),
    "numbered, no end": _numbered("  1) {w} and so on"),
    "mocha titles": _numbered("  1) {w}\n     error {w}\n       deeper"),
    "steps": _numbered("##[group]Run make {w}\nmake {w}\n##[error]Process completed"),
    "gtest before": _numbered("x {w}\n[  FAILED  ] A.{w} (1 ms)"),
    "go verbose": _numbered("=== RUN   Test{w}\n    a_test.go:1: {w}\n--- FAIL: Test{w} (0.00s)"),
    "eslint": _numbered("  1:2  error  {w}"),
    "letters at random": _random(_LETTERS, 200),
    "marks at random": _random(" ._-:>|()[]{}/#\\0aEF'\"", 200),
    "marks at random, wide": _random(" ._-:>|()[]{}/#\\0aEF'\"", 1_999),
    "loud words at random": _numbered("error failed {w} expected: got {w} Assertion `{w}"),
}


def numbered_tests(lines: int) -> Iterator[bytes]:
    """So many failing tests, each of another name."""
    for n in range(lines):
        yield f"FAILED tests/test_{_word(n)}.py::test_{_word(n)}_{n} - assert {n} == 0\n".encode()


def write_hostile(name: str, size_bytes: int) -> Iterator[bytes]:
    """The bytes of the log called *name*, about *size_bytes* of them."""
    for block in HOSTILE[name](size_bytes):
        yield block.encode()
