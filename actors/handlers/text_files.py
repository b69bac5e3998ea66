"""The actions `read_text` and `write_text`: a text file as a step's result, and the reverse."""

import hashlib
from pathlib import Path

import msgspec

from cortex.bus.events import StepExecute
from cortex.runtime.code.repair import RepairError, work_tree
from cortex.runtime.context import Offer
from cortex.runtime.functions import ActionStep, StepError, action
from cortex.runtime.kernel import Component, Home
from cortex.runtime.secrets import MaskedTextError, refuse_masked

from .plain_file import open_plain, reason_of, replace_plain, target_of

LARGEST_BYTES = 128 * 1024  # larger texts do not fit into an event
SHOWN = 300  # characters of a path that cannot be used
MASKED = "masked"  # the failure of writing a mask in place of the masked secret


class ReadTextParameters(msgspec.Struct, frozen=True):
    """Read a text file."""

    path: str  # absolute or relative to the workspace


class ReadTextResult(msgspec.Struct, frozen=True):
    """What `read_text` gives."""

    path: str  # absolute
    text: str  # of the whole file
    context: list[Offer]  # the text


class WriteTextParameters(msgspec.Struct, frozen=True):
    """Write a text file, as a whole."""

    # Relative to the workspace. No link may lead out of it. An existing file keeps its mode
    path: str
    text: str  # replaces the whole file


class WriteTextResult(msgspec.Struct, frozen=True):
    """What `write_text` gives."""

    path: str  # absolute
    digest: str  # SHA-256 of the file


class TextFiles(Component):
    """Reads and writes text files, whole."""

    rests = True

    def __init__(self, home: Home | None = None) -> None:
        self._home = home

    @action("read_text", effect="read")
    def read(self, asked: ReadTextParameters, step: ActionStep) -> ReadTextResult:
        """Read one file."""
        event = step.event
        path = Path(event.workspace or ".", asked.path).absolute()
        try:
            if event.worktree:
                path = self._in_tree(event, asked.path, reads=True)
            data = _bounded(path)
        except (OSError, ValueError) as error:
            problem = f"{_shown(path)} cannot be read: {reason_of(error)}"
            raise StepError(problem, retry=False) from error
        text = data.decode(errors="replace")
        offer = Offer(kind="notes", text=text, source=str(path))
        step.summary = f"read {path.name}"
        return ReadTextResult(str(path), text, [offer] if text.strip() else [])

    @action("write_text", effect="idempotent")
    def write(self, asked: WriteTextParameters, step: ActionStep) -> WriteTextResult:
        """Write one file; repeating it has the same result."""
        event = step.event
        workspace = Path(event.workspace or ".").absolute()
        path = workspace / asked.path
        data = asked.text.encode()
        try:
            refuse_masked(f"the text for {_shown(path)}", asked.text)
            target = path if event.worktree else target_of(path, workspace)
            if event.worktree:
                path = target = self._in_tree(event, asked.path)
            replace_plain(target, data, step.new_id())
        except MaskedTextError as error:
            raise StepError(str(error), kind=MASKED, retry=False) from error
        except (OSError, ValueError) as error:
            problem = f"{_shown(path)} cannot be written: {reason_of(error)}"
            raise StepError(problem, retry=False) from error
        step.summary = f"wrote {path.name}"
        return WriteTextResult(str(path), hashlib.sha256(data).hexdigest())

    def _in_tree(self, event: StepExecute, named: str, *, reads: bool = False) -> Path:
        """The file of this name in the execution's work tree only.

        A file that is only read may be in a workspace that is not a checkout.
        """
        try:
            place = work_tree(self._home, event).resolve()
        except RepairError as error:
            if not reads:
                raise OSError(str(error)) from error
            place = Path(event.workspace or ".").resolve()
        path = (place / named).resolve()
        if not path.is_relative_to(place) or ".git" in path.relative_to(place).parts:
            raise OSError("it is not in the worktree of this execution: name a file in there")
        return path


def _bounded(path: Path) -> bytes:
    with open_plain(path) as file:
        data = file.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise OSError(f"it is larger than {LARGEST_BYTES // 1024} kB: cut it into parts")
    return data


def _shown(path: Path) -> str:
    return str(path)[:SHOWN].replace("\0", "\\0")
