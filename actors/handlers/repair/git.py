"""git, asked for a repair: what it says wrong comes as one line, without paths of this machine."""

import os
import re
import signal
import subprocess
from collections.abc import Collection
from pathlib import Path

from cortex.runtime.isolation import AT_REMOTE, TO_SIGN, environment_for

from ...programs import GitFilterError, ask_git
from .errors import GitFailedError

_MISSING = "is not installed: install it, then resume"
_LINE = re.compile(r"^(?:fatal|error): ", re.MULTILINE)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")  # of a URL
_FOLDERS = re.compile(r"'/(?:[^'/\n]*/)+(?=[^'/\n])")  # in front of a name in quotes
_SHOWN = 300  # characters of what it said
# Inside a hook git sets these, and they would win over the checkout that is meant.
_OF_ANOTHER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE")
# Nothing beside the command itself: no packing of the user's objects, nothing inside submodules.
_ALONE = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false")
_QUIET = (*_ALONE, "-c", "commit.gpgsign=false", "-c", "core.safecrlf=false")


class Git:
    """git in one folder, with what the checkout's configuration names switched off."""

    def __init__(self, folder: Path, timeout_s: float, *options: str) -> None:
        self.folder, self.timeout_s = folder, timeout_s
        self._options = options

    def asked(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """How git ended, whatever its exit code.

        Raises:
            GitFailedError: It could not be run, or took too long.
        """
        try:
            return ask_git(
                str(self.folder), *_QUIET, *self._options, *words, timeout_s=self.timeout_s
            )
        except FileNotFoundError:
            raise GitFailedError(words[0], _MISSING) from None
        except OSError as error:
            raise GitFailedError(words[0], f"cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise GitFailedError(words[0], _late(self.timeout_s)) from None
        except GitFilterError as error:
            raise GitFailedError(words[0], error.problem) from None

    def run(self, *words: str) -> str:
        """What it said.

        Raises:
            GitFailedError: It ended with an error.
        """
        ended = self.asked(*words)
        if ended.returncode:
            raise GitFailedError(words[0], self.said(ended.stderr))
        return os.fsdecode(ended.stdout)

    def run_as_user(self, *words: str, secrets: bool = False, hidden: Collection[str] = ()) -> str:
        """The same with the user's own hooks, signatures and ways to the network.

        Args:
            words: The command.
            secrets: It gets what logs in at a remote, too.
            hidden: Variables that it does not get in any case.

        Raises:
            GitFailedError: It ended with an error, or took too long.
        """
        environment = environment_for(AT_REMOTE if secrets else TO_SIGN, hidden)
        for name in (*_OF_ANOTHER, *hidden):
            environment.pop(name, None)
        process = subprocess.Popen(
            ["git", "-C", str(self.folder), *_ALONE, *self._options, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment | {"GIT_TERMINAL_PROMPT": "0"},
            start_new_session=True,  # so that nobody is asked on a terminal
        )
        try:
            out, err = process.communicate(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise GitFailedError(words[0], _late(self.timeout_s)) from None
        if process.returncode:
            raise GitFailedError(words[0], self.said(err or out))
        return os.fsdecode(out)

    def said(self, stderr: bytes) -> str:
        """The line that says what is wrong; our own folder and passwords are left out."""
        text = _FOLDERS.sub("'", stderr.decode(errors="replace"))
        text = _CREDENTIALS.sub("", text.replace(f"{self.folder}/", ""))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if _LINE.match(line)] or lines[-1:]
        return _LINE.sub("", telling[0])[:_SHOWN] if telling else "it failed without a word"


def _late(timeout_s: float) -> str:
    return f"did not end within {timeout_s:g} s: try again"
