"""Where in the log the failing step stands, and which command it ran."""

import re
from collections.abc import Sequence

import msgspec

_BEGIN = re.compile(
    r"##\[group\](?P<run>Run )?(?P<name>.*)|(?:\$|\+|>) (?P<shell>[\w./~\"'-].*)"
    r"|section_start:\d+:(?P<section>\w+)|~~~ (?P<buildkite>.*)|\[Pipeline\] (?P<stage>sh|bat)$"
)
_END = re.compile(
    r"##\[error\](?!Node\.js \d+ actions)|ERROR: Job failed|script returned exit code [1-9]"
    r"|The command .* (?:exited with [1-9]|failed)"
    r"|.{0,6}Error: The command exited with status|Exited with code|make: \*\*\* "
    r"|npm ERR! Test failed"
    r"|error Command failed with exit code|\[taskcluster[^\]]*\] ?(?:Unsuccessful"
    r"|.*[Ee]xit code: [1-9])"
    r"|Build step .* marked build as failure|.*returned a non-zero code"
)
_QUOTED = re.compile(
    r"The command \"?(?P<travis>.+?)\"? (?:exited with|failed)"
    r"|The command '(?P<docker>.+)' returned a non-zero"
    r"|InvocationError for command (?P<tox>.+?)(?: \(exited|$)"
    r"|process \"(?P<buildkit>.+)\" did not complete"
    r"|npm (?:ERR!|error) command (?!failed)(?:sh -c )?(?P<npm>\S.*)"
)
_MAX_STEP_LINES = 200_000
_IDLE = re.compile(  # what a script does besides its work
    r"(?:#|set [-+]|export |cd |echo |exit\b|return\b|source |\. |true$|false$|popd|pushd"
    r"|mkdir |rm |cat |\[ |if |then|fi$"
    r"|else|sleep |trap |kill |wait\b|test -|local |unset |[A-Z_]+=|'\[|eval |sudo sysctl"
    r"|shell: |env:|with:|##\[)"
)
_FIRST_CHARS = frozenset("#$+>s~[TEB.mne\U0001f6a8")  # of what _BEGIN and _END match
_MAX_SCRIPT_LINES = 40
_MAX_COMMAND_CHARS = 400


class LogStep(msgspec.Struct, frozen=True):
    """The part of a log in which the failing command ran; positions, the end included."""

    first: int
    last: int
    command: str | None


def quoted_command(text: str) -> str | None:
    """Return the command that a line complains about, where it quotes one."""
    found = _QUOTED.search(text)
    return next((group for group in found.groups() if group), None) if found else None


def failing_steps(texts: Sequence[str]) -> list[LogStep]:
    """Return the steps that ended in an error, in order; none where the log does not say."""
    steps: list[LogStep] = []
    begin, command = 0, None
    for i, text in enumerate(texts):
        if not text or text[0] not in _FIRST_CHARS:
            continue
        found = _BEGIN.match(text)
        if found:
            name = _script(texts, i) if found["run"] else _command(found)
            if found["run"] or (name and not _inside_github(texts, begin)):
                begin, command = i, name
        elif _END.match(text) and not (
            steps and steps[-1].first == begin and i - begin > _MAX_STEP_LINES
        ):
            named = quoted_command(text)
            if steps and steps[-1].first == begin:
                steps[-1] = LogStep(begin, i, named or steps[-1].command)
            else:
                steps.append(LogStep(begin, i, named or command))
    return steps


def _inside_github(texts: Sequence[str], begin: int) -> bool:
    return texts[begin].startswith("##[group]Run ") if texts else False


def _command(found: re.Match[str]) -> str | None:
    name = (found["shell"] or found["buildkite"] or "").strip()
    return name if name and not _IDLE.match(name) else None


def _script(texts: Sequence[str], begin: int) -> str:
    """Return the lines that do something of the script GitHub prints under its heading."""
    first = texts[begin].removeprefix("##[group]Run ").strip()
    work: list[str] = []
    for text in [first, *texts[begin + 1 : begin + _MAX_SCRIPT_LINES]]:
        line = text.strip()
        if line.startswith(("shell:", "##[endgroup]", "with:", "env:")):
            break
        if line and line not in work and not _IDLE.match(line):
            work.append(line)
    return "; ".join(work)[:_MAX_COMMAND_CHARS] or first
