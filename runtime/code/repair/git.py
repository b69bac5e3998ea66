"""Runs git for a repair: its errors become one line, without paths of this machine."""

import os
import re
import subprocess
from pathlib import Path

from ..programs import GitConfigurationError, GitGrant, run_git
from .errors import GitFailedError

_MISSING = "is not installed: install it, then resume"
_LINE = re.compile(r"^(?:fatal|error): ", re.MULTILINE)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")  # of a URL
_FOLDERS = re.compile(r"'/(?:[^'/\n]*/)+(?=[^'/\n])")  # in front of a name in quotes
_SHOWN = 300  # characters of what it said


class Git:
    """git in one folder."""

    def __init__(
        self, folder: Path, timeout_s: float, *options: str, tree: Path | None = None
    ) -> None:
        """Ask git in *folder*; *tree* is the work tree of ours that it works in, if any."""
        self.folder, self.timeout_s = folder, timeout_s
        self._options, self._tree = options, tree

    def asked(
        self, *words: str, grant: GitGrant | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """How git ended, whatever its exit code.

        Raises:
            GitFailedError: It could not be run, or took too long.
        """
        try:
            return run_git(
                str(self.folder),
                *words,
                timeout_s=self.timeout_s,
                options=self._options,
                grant=grant,
                tree=self._tree,
            )
        except FileNotFoundError:
            raise GitFailedError(words[0], _MISSING) from None
        except OSError as error:
            raise GitFailedError(words[0], f"cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise GitFailedError(words[0], _late(self.timeout_s)) from None
        except GitConfigurationError as error:
            raise GitFailedError(words[0], error.problem) from None

    def run(self, *words: str, grant: GitGrant | None = None) -> str:
        """What it said; with a *grant*, the user's own ways to sign and to the network are used.

        Raises:
            GitFailedError: It ended with an error.
        """
        ended = self.asked(*words, grant=grant)
        if ended.returncode:
            said = ended.stderr or (ended.stdout if grant is not None else b"")
            raise GitFailedError(words[0], self.said(said))
        return os.fsdecode(ended.stdout)

    def said(self, stderr: bytes) -> str:
        """The line with the error; our own folder and passwords are removed."""
        text = _FOLDERS.sub("'", stderr.decode(errors="replace"))
        text = _CREDENTIALS.sub("", text.replace(f"{self.folder}/", ""))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if _LINE.match(line)] or lines[-1:]
        return _LINE.sub("", telling[0])[:_SHOWN] if telling else "it failed without a word"


def _late(timeout_s: float) -> str:
    return f"did not end within {timeout_s:g} s: try again"
