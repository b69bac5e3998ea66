"""Starts `cortex`, and its children for components, by a fork of a process that has imported all.

Most of what a short command costs is its imports, and the tests start many. One process for each
test worker imports them once, uses nothing of them, and forks whenever a test starts the script. To
the test the child is a process like any other: it has the arguments, folder, environment, streams
and session that it was given, takes signals, can be killed, and exits with its code. It begins with
a process beside it that forks its own children, so these are in its session, and end with it.

A child has not gone through `exec`. A test file that is about that says `STARTED_IN_FULL = True`
(one of them starts every command), and CORTEX_STARTED_IN_FULL=1 says it for all.
"""

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

CORTEX = str(Path(sys.executable).parent / "cortex")
SPAWNED = "from cortex.runtime.kernel.hosts.spawned_child import main; main()"
WHOLE = "CORTEX_STARTED_IN_FULL"
# What the interpreter reads when it starts, or the C library does: such a child starts in full.
EARLY = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "TZ", "OMP_", "OPENBLAS_")
LAYERS = ("actors", "bus", "plugins", "runtime")
PROGRAMS = ("__main__", "child", "host_process")  # modules that are programs
HIGH = 200  # descriptors from here on are nobody's
MOST_FDS = 8
KILLED_S = 2.0  # until it is known that one has ended that was killed

_POPEN = subprocess.Popen
_STARTING = threading.Lock()


class Forker:
    """The near end of the connection to a process that forks."""

    def __init__(
        self, connection: socket.socket, process: "subprocess.Popen[bytes] | None" = None
    ) -> None:
        self.environment = dict(os.environ)
        self._connection, self._process = connection, process
        self._asking = threading.Lock()

    @classmethod
    def start(cls) -> "Forker":
        """One that imports all first."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = _POPEN(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        return cls(ours, process)

    def close(self) -> None:
        """End it."""
        self._connection.close()
        if self._process is not None:
            self._process.wait()

    def fork(self, request: dict[str, Any], files: Sequence[int]) -> tuple[int, socket.socket]:
        """Ask for a child with *files*; its id comes back, and where its end will be told."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        payload = os.memfd_create("request")
        with theirs, self._asking:
            os.write(payload, json.dumps(request).encode())
            socket.send_fds(self._connection, [b"fork"], [theirs.fileno(), payload, *files])
        os.close(payload)
        begun, _, pid = ours.recv(32).partition(b" ")  # once it is in its session and folder
        if begun != b"begun":
            ours.close()
            raise OSError(f"{request['words']} cannot begin in {request['folder']}")
        return int(pid), ours


class Prestarted(subprocess.Popen[Any]):
    """A child that is forked where it is one of Cortex's own, and started as ever otherwise.

    It replaces methods of `subprocess` that are private, so no stub knows them: through these goes
    all that Popen starts and waits for.
    """

    in_full = False  # all start as ever
    forker: "Forker | None" = None
    _end: socket.socket | None = None
    _made = ""

    def __del__(self, *known: Any, **more: Any) -> None:
        """Say where it was started, if it runs on and nobody waits for it.

        One that was killed ends soon, but who forked it tells so a moment later.
        """
        if self._child_created and self.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(KILLED_S)
        if self._child_created and self.returncode is None:
            sys.stderr.write(f"nobody waited for a process that was started so:\n{self._made}")
        super().__del__(*known, **more)

    def _execute_child(self, args: Any, executable: Any, *rest: Any) -> None:
        self._made = "".join(traceback.format_stack(limit=14))
        (
            preexec_fn, _close_fds, pass_fds, cwd, env, _startupinfo, _flags, shell,
            p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
            _restore, gid, _gids, uid, umask, new_session, *group,
        ) = rest  # fmt: skip
        odd = executable or preexec_fn or shell or gid or uid or umask != -1 or group != [-1]
        environment = dict(os.environ) if env is None else {**env}
        words = None if odd or self.in_full else _words_of(args, pass_fds)
        early = EARLY if words and words[0] == CORTEX else EARLY[1:]  # an isolated one reads none
        if words is None or not self._can_fork(environment, early):
            super()._execute_child(args, executable, *rest)  # type: ignore[misc]  # subprocess's own
            return
        theirs = (p2cread, c2pwrite, errwrite)
        streams = [own if given == -1 else given for own, given in enumerate(theirs)]
        request = {
            "words": words,
            "folder": os.fsdecode(cwd or Path.cwd()),
            "environment": {os.fsdecode(k): os.fsdecode(v) for k, v in environment.items()},
            "own_session": bool(new_session),
            "blocked": [int(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
            "files": [0, 1, 2, *pass_fds],
        }
        self.pid, self._end = self._forker().fork(request, [*streams, *pass_fds])
        self._child_created = True
        self._close_pipe_fds(  # type: ignore[attr-defined]  # subprocess's own
            p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite
        )

    @staticmethod
    def _forker() -> Forker:
        with _STARTING:
            if Prestarted.forker is None:
                Prestarted.forker = Forker.start()
            return Prestarted.forker

    def _can_fork(self, environment: dict[Any, Any], early: tuple[str, ...]) -> bool:
        own = self._forker().environment
        names = {
            str(each)
            for each in environment.keys() | own.keys()
            if environment.get(each) != own.get(each)
        }
        return not any(name.startswith(early) for name in names - {"PYTHONPATH"})

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._end is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc,no-any-return]  # subprocess's own
        told = b""
        try:
            told = self._end.recv(32, socket.MSG_DONTWAIT if wait_flags == os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._end.close()
        # Where who forked it is gone, it was killed with it.
        return self.pid, int(told.partition(b" ")[2] or signal.SIGKILL)

    def _internal_poll(self, *args: Any, **options: Any) -> int | None:
        if self._end is None:
            return super()._internal_poll(*args, **options)  # type: ignore[misc,no-any-return]  # as above
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid == self.pid:
                self._handle_exitstatus(status)  # type: ignore[attr-defined]  # subprocess's own
        return self.returncode


def _words_of(args: Any, files: Sequence[int]) -> list[str] | None:
    """What `sys.argv` is in a child that can be forked; None where this one cannot."""
    if isinstance(args, str | bytes | os.PathLike):
        return None
    words = [os.fsdecode(each) for each in args]
    if words[0] == CORTEX and not files:
        return words
    isolated = words[:3] == [sys.executable, "-I", "-c"] and words[3:4] == [SPAWNED]
    return ["-c", *words[4:]] if isolated else None


def install() -> None:
    """Have the tests of this process start Cortex that way, where the system can do it."""
    if sys.platform == "linux" and os.environ.get(WHOLE) != "1":
        subprocess.Popen = Prestarted  # type: ignore[misc]  # it is one


def uninstall() -> None:
    """Have what is started from now on start as ever."""
    subprocess.Popen = _POPEN  # type: ignore[misc]  # as it was
    if Prestarted.forker is not None:
        Prestarted.forker.close()


@contextlib.contextmanager
def in_full(really: bool) -> Iterator[None]:
    """Start all by `exec` until the block is left, where that is *really* wanted."""
    before, Prestarted.in_full = Prestarted.in_full, really
    yield
    Prestarted.in_full = before


# What follows runs in the process that forks, and in its children.


def import_all() -> None:
    """Every module of Cortex, and so what each of them imports."""
    cortex = importlib.import_module("cortex")
    for each in pkgutil.walk_packages(cortex.__path__, "cortex."):
        parts = each.name.split(".")
        if parts[1] in LAYERS and not parts[-1].endswith(PROGRAMS):
            importlib.import_module(each.name)
    gc.collect()
    gc.freeze()  # so that children share the memory


def serve(connection: socket.socket) -> list[str]:
    """Fork for each request; returns in the children, and ends with who asks."""
    woken, wake = socket.socketpair()
    woken.setblocking(False)
    wake.setblocking(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the others of a terminal
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    ends: dict[int, socket.socket] = {}
    while True:
        for ready in select.select([connection, woken], [], [])[0]:
            if ready is woken:
                woken.recv(4096)
                reap(ends)
                continue
            said, (first, *files) = received(connection)
            if not said:
                os._exit(0)
            end = socket.socket(fileno=first)
            pid = os.fork()
            if pid == 0:
                for inherited in (connection, woken, wake, *ends.values()):
                    inherited.close()
                become(files)
                with end:
                    end.send(b"begun %d" % os.getpid())
                return sys.argv
            ends[pid] = end
            for file in files:
                os.close(file)


def received(connection: socket.socket) -> tuple[bytes, list[int]]:
    """A request with its files; no bytes once nobody asks any more."""
    said, files, _, _ = socket.recv_fds(connection, 16, MOST_FDS)
    return said, files or [-1]


def reap(ends: dict[int, socket.socket]) -> None:
    """Tell the end of every child that has ended."""
    while ends:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with ends.pop(pid) as end, contextlib.suppress(OSError):  # who asked may be gone
            end.send(b"ended %d" % status)


def become(files: list[int]) -> None:
    """Make this child what was asked for: its session, files, environment, folder and words."""
    payload, *given = [fcntl.fcntl(each, fcntl.F_DUPFD, HIGH) for each in files]
    for each in files:
        os.close(each)
    os.lseek(payload, 0, os.SEEK_SET)
    with os.fdopen(payload, "rb") as file:
        request: dict[str, Any] = json.loads(file.read())
    if request["own_session"]:
        os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, request["blocked"])
    for each, number in zip(given, request["files"], strict=True):
        os.dup2(each, number)
        os.close(each)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        errors = "backslashreplace" if name == "stderr" else "strict"
        stream = os.fdopen(number, mode, 1 if number == 2 else -1, "utf-8", errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(request["folder"])
    sys.argv[:] = request["words"]
    enter(request["environment"])


def enter(environment: dict[str, str]) -> None:
    """Have this *environment*, and look for modules where the script would."""
    before = os.environ.get("PYTHONPATH", "")
    os.environ.clear()
    os.environ.update(environment)
    if sys.argv[0] == CORTEX:
        more = os.environ.get("PYTHONPATH", "")
        if more != before:
            sys.path[:0] = [str(Path(each).absolute()) for each in more.split(os.pathsep) if each]
        sys.path.insert(0, str(Path(CORTEX).parent))


def fork_beside() -> None:
    """Have a process beside this one that forks the children of this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        Prestarted.forker = Forker(ours)
        install()
        return
    ours.close()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    serve(theirs)
    end_with("cortex.runtime.kernel.hosts.spawned_child")


def end_with(program: str) -> NoReturn:
    """Run the module's `main` and end with its code, without taking down all that is imported."""
    code: Any = 1
    try:
        main: Callable[[], int | None] = importlib.import_module(program).main
        code = main()
    except SystemExit as leave:
        code = leave.code
    except BaseException:  # noqa: BLE001  # as the interpreter does
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls at its end
    atexit._run_exitfuncs()
    for each in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            each.flush()
    os._exit(code if isinstance(code, int) else bool(code))


if __name__ == "__main__":
    import_all()
    if serve(socket.socket(fileno=int(sys.argv[1])))[0] == CORTEX:
        fork_beside()
        end_with("cortex.runtime.cli")
    end_with("cortex.runtime.kernel.hosts.spawned_child")
