"""Effects that happen once: a program whose end is recorded even when the runtime is killed.

The program is started by a small process of its own, which outlives the runtime, holds a lock while
it works and writes how the program ended. Whoever comes again with the same key finds that record
or waits for the lock. Where neither is there the effect was interrupted, and it is not repeated.
"""

import contextlib
import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .errors import EffectInterruptedError, ProgramError, ProgramTimeoutError
from .output import listen, start
from .running import ProgramOutcome, cannot_start, end_group

LOOK_S = 0.05  # between two looks at a program that an earlier runtime started
GRACE_S = 10.0  # for the small process, beside the program's own time
KEPT_S = 7 * 86_400.0


class Order(msgspec.Struct, frozen=True):
    """What the small process is to do."""

    argv: tuple[str, ...]
    folder: str
    timeout_s: float


class Effects:
    """Programs by idempotency key, each run once; their records stand in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, key: str, argv: Sequence[str], folder: str, timeout_s: float) -> ProgramOutcome:
        """Run a program, or give how it ended when it was run under *key* before.

        Raises:
            EffectInterruptedError: It was started before, and was killed before its end was known.
            ProgramTimeoutError: It took longer than *timeout_s*.
            ProgramError: It cannot be started.
        """
        place = self._folder / hashlib.sha256(key.encode()).hexdigest()[:32]
        try:
            own = _begin(place, Order(tuple(argv), folder, timeout_s))
        except OSError as error:
            problem = f"cannot be started: its record cannot be kept: {error.strerror or error}"
            raise ProgramError(argv[0], problem) from error
        _wait(place, argv[0], timeout_s + GRACE_S, own)
        ended = msgspec.json.decode((place / "outcome").read_bytes(), type=_Ended)
        if ended.after_s:
            raise ProgramTimeoutError(argv[0], ended.after_s)
        if ended.problem:
            raise ProgramError(argv[0], ended.problem)
        return ProgramOutcome(
            ended.exit_code, (place / "stdout").read_bytes(), (place / "stderr").read_bytes()
        )

    def forget(self, older_than_s: float = KEPT_S) -> None:
        """Remove the records of effects that ended long ago; their steps are settled."""
        limit = time.time() - older_than_s
        for place in self._folder.glob("*"):
            with contextlib.suppress(OSError):  # another worker tidies up as well
                if place.stat().st_mtime < limit and not _held(place):
                    shutil.rmtree(place, ignore_errors=True)


def _begin(place: Path, order: Order) -> subprocess.Popen[bytes] | None:
    """Start the small process; None where one was started that ended, or is at work."""
    place.mkdir(parents=True, exist_ok=True)
    # The lock goes over with the child, so that there is no moment at which nobody holds it.
    with (place / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if (place / "outcome").exists():
            return None
        if (place / "begun").exists():
            raise EffectInterruptedError(
                order.argv[0], "was started before and interrupted: look what it did, then resume"
            )
        (place / "order").write_bytes(msgspec.json.encode(order))
        return subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(place)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(lock.fileno(),),
        )


def _wait(place: Path, program: str, bound_s: float, own: subprocess.Popen[bytes] | None) -> None:
    # The child keeps the time itself; this bound is for a child that is stuck.
    until = time.monotonic() + bound_s
    if own is not None:
        try:
            own.wait(bound_s)
        except subprocess.TimeoutExpired:
            end_group(own.pid)
            own.wait()
    while not (place / "outcome").exists():
        if not _held(place) and not (place / "outcome").exists():
            raise EffectInterruptedError(program, "was killed: look what it did, then resume")
        if time.monotonic() > until:
            raise ProgramError(program, f"did not end within {bound_s:g} s")
        time.sleep(LOOK_S)


class _Ended(msgspec.Struct, frozen=True):
    exit_code: int = 0
    problem: str = ""  # why it was not started
    after_s: float = 0.0  # where it was ended for taking too long: how long it had


def run_ordered(place: Path) -> None:
    """What the small process does; the lock it was given ends with it."""
    order = msgspec.json.decode((place / "order").read_bytes(), type=Order)
    (place / "begun").touch()
    ended, out, err = _run(order)
    (place / "stdout").write_bytes(out)
    (place / "stderr").write_bytes(err)
    staged = place / "outcome.new"
    staged.write_bytes(msgspec.json.encode(ended))
    staged.rename(place / "outcome")


def _run(order: Order) -> tuple[_Ended, bytes, bytes]:
    try:
        process = start(order.argv, order.folder)
    except (OSError, ValueError) as error:
        return _Ended(problem=cannot_start(error)), b"", b""
    said = listen(process, order.timeout_s)
    if said is None:
        end_group(process.pid)
        process.wait()
        return _Ended(after_s=order.timeout_s), b"", b""
    return _Ended(exit_code=process.returncode), *said


def _held(place: Path) -> bool:
    try:
        with (place / "lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


_CHILD = """
import sys
from pathlib import Path
from cortex.actors.programs import run_ordered
run_ordered(Path(sys.argv[1]))
"""
