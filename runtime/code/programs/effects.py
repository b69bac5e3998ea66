"""Effects that happen once: a program whose end is recorded even when the runtime is killed.

The program is started by a small process of its own, which outlives the runtime, holds a lock while
it works and writes how the program ended. A repeated call with the same key finds that record or
waits for the lock. If there is neither, the effect was interrupted, and it is not repeated.

Records are synced to disk before the program starts, and before its end is reported, independent of
the log's durability: a loss of power repeats nothing. Starting a process costs much more.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Thread

import msgspec

from cortex.bus import steady_s, whom_it_serves
from cortex.runtime.isolation import interpreter
from cortex.runtime.secrets import Mask

from .output import ASK_S, listen, start
from .running import (
    EffectInterruptedError,
    ProgramError,
    ProgramOutcome,
    ProgramTimeoutError,
    ProgramUnwantedError,
    cannot_start,
    end_group,
    program_environment,
)

LOOK_S = 0.05  # between two looks at a program that an earlier runtime started
GRACE_S = 10.0  # for the small process, beside the program's own time
KEPT_S = 7 * 86_400.0
KEY = "CORTEX_EFFECT_KEY"  # variable in which a program finds the key that it runs under
WHOSE = "whose"  # the file with the id of the subject for which a program runs
CUT = "cut"  # a file that makes the small process end its program
UNKEPT = "cannot be started: its record cannot be kept"


class Order(msgspec.Struct, frozen=True):
    """What the small process is to do."""

    argv: tuple[str, ...]
    folder: str
    timeout_s: float
    stream: str = ""  # of the execution that it serves; "" where nobody said


class Effects:
    """Programs by idempotency key, each run once; their records are in a folder.

    Args:
        folder: Of the records.
        mask: Hides secrets in the output of programs, returned and stored.
    """

    def __init__(self, folder: Path, mask: Mask | None = None) -> None:
        self._folder = folder
        self._mask = mask or Mask()

    def run(
        self,
        key: str,
        argv: Sequence[str],
        folder: str,
        timeout_s: float,
        *,
        passed: Collection[str] = (),
        hidden: Collection[str] = (),
        wanted: Callable[[], bool] | None = None,
        again: bool = False,
        stream: str = "",
    ) -> ProgramOutcome:
        """Run a program, which finds *key* in `CORTEX_EFFECT_KEY`, or return its recorded end.

        Args:
            key: Of the effect, the same when it is repeated: a run under it is recorded.
            argv: Its words.
            folder: Where it runs.
            timeout_s: How long it may take.
            passed: Variables that it gets beside what every program does.
            hidden: Variables that it does not get unless they are passed.
            wanted: Called repeatedly; if false, the program is ended.
            again: Whether to start an interrupted program once more.
            stream: Of the execution that it serves: its record is kept until that has ended.

        Raises:
            EffectInterruptedError: It was started before, and was killed before its end was known.
            ProgramTimeoutError: It took longer than *timeout_s*.
            ProgramUnwantedError: It was no longer *wanted*, and was ended.
            ProgramError: It cannot be started.
        """
        place = self._place_of(key, argv, folder)
        try:
            order = Order(tuple(argv), folder, timeout_s, stream)
            environment = program_environment(passed, hidden) | {KEY: key}
            own = _begin(place, order, environment, again=again)
        except OSError as error:
            raise ProgramError(argv[0], f"{UNKEPT}: {error.strerror or error}") from error
        try:
            _wait(place, argv[0], timeout_s + GRACE_S, own, wanted)
        finally:
            if own is not None and own.returncode is None:
                # It goes on, and a later call gets its outcome; this one must not leave a zombie.
                Thread(target=own.wait, name="cortex-effect", daemon=True).start()
        return self._recorded_end(place, argv[0])

    def _place_of(self, key: str, argv: Sequence[str], folder: str) -> Path:
        """The folder of the effect's record."""
        # With a log from a backup, keys come back that were given to something else.
        known_by = msgspec.json.encode((key, tuple(argv), folder))
        return self._folder / hashlib.sha256(known_by).hexdigest()[:32]

    def _recorded_end(self, place: Path, program: str) -> ProgramOutcome:
        """How the program ended; raises what `run` raises where it did not end by itself."""
        ended = msgspec.json.decode((place / "outcome").read_bytes(), type=_Ended)
        if ended.cut:
            raise ProgramUnwantedError(program)
        if ended.after_s:
            raise ProgramTimeoutError(program, ended.after_s)
        if ended.problem:
            raise ProgramError(program, ended.problem)
        said = [self._said(place / name) for name in ("stdout", "stderr")]
        return ProgramOutcome(ended.exit_code, *said)

    def _said(self, path: Path) -> bytes:
        """The stored part of an output. The small process has no secrets: mask them here."""
        data = path.read_bytes()
        masked = self._mask.data(data)
        if masked is not data:
            staged = path.with_suffix(".new")
            _keep(staged, masked)
            staged.replace(path)
        return masked

    def forget(self, is_settled: Callable[[str], bool], older_than_s: float = KEPT_S) -> None:
        """Remove the records of effects that ended long ago and are settled.

        Age alone settles nothing: what a kill cut off may be taken up a year later, and what it
        began must not be done again then.

        Args:
            is_settled: Whether the execution of a stream has ended, so that nothing is repeated.
            older_than_s: How long ago they began.
        """
        limit = time.time() - older_than_s
        for place in self._folder.glob("*"):
            with contextlib.suppress(OSError):  # another worker tidies up as well
                if place.stat().st_mtime < limit and not _held(place):
                    stream = _stream_of(place)
                    if stream and is_settled(stream):
                        shutil.rmtree(place, ignore_errors=True)


def _stream_of(place: Path) -> str:
    """The stream of the execution that a record serves; "" if that is not known."""
    try:
        return msgspec.json.decode((place / "order").read_bytes(), type=Order).stream
    except msgspec.MsgspecError:
        return ""


def _begin(
    place: Path, order: Order, environment: Mapping[str, str], *, again: bool
) -> subprocess.Popen[bytes] | None:
    """Start the small process; None where one was started that ended, or is at work."""
    for folder in (place.parent, place):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The child inherits the lock, so that it is held without a gap.
    with open(place / "lock", "a", opener=_private) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if (place / "outcome").exists():
            return None
        if again:
            for left in ("begun", CUT):  # by an interrupted run
                (place / left).unlink(missing_ok=True)
        elif (place / "begun").exists():
            raise EffectInterruptedError(
                order.argv[0], "was started before and interrupted: check what it did"
            )
        if (whose := whom_it_serves()) is not None:  # for an erasure: the order may hold its data
            _keep(place / WHOSE, whose.encode())
        _keep(place / "order", msgspec.json.encode(order))
        return subprocess.Popen(
            interpreter("-c", _CHILD, str(place)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,  # that of its program, which can read it
            start_new_session=True,
            pass_fds=(lock.fileno(),),
        )


def _wait(
    place: Path,
    program: str,
    bound_s: float,
    own: subprocess.Popen[bytes] | None,
    wanted: Callable[[], bool] | None,
) -> None:
    # The child keeps the time itself; this bound is for a child that is stuck.
    until = steady_s() + bound_s
    cut = _cutting(place, wanted)
    while own is not None:
        try:
            own.wait(max(0.0, min(ASK_S, until - steady_s())))
            break
        except subprocess.TimeoutExpired:
            cut()
            if steady_s() > until:
                end_group(own.pid)
                own.wait()
    while not (place / "outcome").exists():
        if not _held(place) and not (place / "outcome").exists():
            if not (place / "begun").exists():
                raise ProgramError(program, UNKEPT)
            raise EffectInterruptedError(program, "was killed: check what it did")
        if steady_s() > until:
            raise EffectInterruptedError(program, f"did not end within {bound_s:g} s")
        cut()
        time.sleep(LOOK_S)


def _cutting(place: Path, wanted: Callable[[], bool] | None) -> Callable[[], None]:
    """Tell the small process to end its program when that is not wanted any more."""
    asked = steady_s()

    def cut() -> None:
        nonlocal asked
        if wanted is not None and steady_s() - asked >= ASK_S:
            asked = steady_s()
            if not wanted():
                (place / CUT).touch()

    return cut


class _Ended(msgspec.Struct, frozen=True):
    exit_code: int = 0
    problem: str = ""  # why it was not started
    after_s: float = 0.0  # where it was ended for taking too long: how long it had
    cut: bool = False  # it was ended because it was no longer wanted


def run_ordered(place: Path) -> None:
    """What the small process does; the lock it was given ends with it."""
    order = msgspec.json.decode((place / "order").read_bytes(), type=Order)
    try:
        _keep(place / "begun", b"")
        for folder in (place, *place.parents[:2]):  # the folders may be as new as the file
            _settle(folder)
    except OSError:
        (place / "begun").unlink(missing_ok=True)  # nothing was done yet
        raise
    ended, out, err = _run(order, place / CUT)
    _keep(place / "stdout", out)
    _keep(place / "stderr", err)
    staged = place / "outcome.new"
    _keep(staged, msgspec.json.encode(ended))
    staged.rename(place / "outcome")
    _settle(place)


def _run(order: Order, cut: Path) -> tuple[_Ended, bytes, bytes]:
    try:
        process = start(order.argv, order.folder, os.environ)
    except (OSError, ValueError) as error:
        return _Ended(problem=cannot_start(error)), b"", b""
    said = listen(process, order.timeout_s, lambda: not cut.exists())
    if said is None:
        ended = _Ended(cut=True) if cut.exists() else _Ended(after_s=order.timeout_s)
        end_group(process.pid)
        process.wait()
        return ended, b"", b""
    return _Ended(exit_code=process.returncode), *said


def _keep(path: Path, data: bytes) -> None:
    with open(path, "wb", opener=_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _private(path: str, flags: int) -> int:
    # As files of the log are made; its room would take this process as long to load as all else.
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


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
from cortex.runtime.code.programs import run_ordered
from cortex.runtime.isolation import enter_process
enter_process()
run_ordered(Path(sys.argv[1]))
"""
