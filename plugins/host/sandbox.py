"""The sandbox of a plugin's process: the arguments of bubblewrap, and whether it works here.

Inside, a plugin can read the system's programs and libraries, Python, Cortex and its own code. It
has its own /tmp, and what was granted. It has no home (the user's or Cortex's), no network unless
granted, no other process and no device, and a setuid program gives it no rights.
"""

import functools
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from cortex.runtime.isolation import environment_for

from ..errors import PluginRefusedError

PROGRAM = "bwrap"
PROBE_S = 30.0
SCRATCH_BYTES = 256 << 20  # in /tmp and in /dev/shm; that is memory, which no other bound counts
SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr, or folders
# Of /etc only what programs need to start, and to trust certificates; never /etc/ssl/private.
SETTINGS = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
LAYERS = ("bus", "runtime", "actors", "plugins")
NAMING = ("/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf")  # with the network


class Walls(Struct, frozen=True):
    """What a confined process gets to see."""

    code: tuple[str, ...]  # read-only, at the place where it is
    hidden: tuple[str, ...] = ()  # folders that are empty inside, even if another grant covers them
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    placed: tuple[tuple[str, str], ...] = ()  # what is elsewhere inside: (outside, inside)
    network: bool = False


def confined(command: Sequence[str], walls: Walls, *, program: str = PROGRAM) -> list[str]:
    """The command line that runs *command* inside *walls*."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if walls.network:
        options.append("--share-net")
    options += ["--ro-bind", "/usr", "/usr", *_system(), "--proc", "/proc", "--dev", "/dev"]
    size = ("--size", str(SCRATCH_BYTES)) if _sizes(program) else ()
    for path in ("/tmp", "/dev/shm"):  # noqa: S108  # its own, empty ones
        options += [*size, "--tmpfs", path]
    options += ["--remount-ro", "/dev", "--dir", "/run"]
    for path in (*SETTINGS, *(NAMING if walls.network else ())):
        options += ["--ro-bind-try", path, path]
    for path in _outermost(walls.code):
        options += ["--ro-bind", path, path]
    for path in walls.readable:
        options += ["--ro-bind", path, path]
    for path in walls.writable:
        options += ["--bind", path, path]
    # After the rest, or what is granted would show what is in there.
    for path in walls.hidden:
        options += [*size, "--tmpfs", path]
    for outside, inside in walls.placed:
        options += ["--bind", outside, inside]
    options += ["--remount-ro", "/", "--chdir", "/tmp", "--"]  # noqa: S108  # its own
    return [program, *options, *command]


def python_code() -> Iterator[Path]:
    """Folders that Python and Cortex are run from.

    Raises:
        PluginRefusedError: One of them holds the user's home, which is then not hidden.
    """
    wanted = [sys.prefix, sys.base_prefix, *map(sysconfig.get_path, ("stdlib", "purelib"))]
    root = sys.modules["cortex"]
    if root.__file__:  # in a checkout a folder of its own, which names the others
        wanted.append(str(Path(root.__file__).parent))
    for top in root.__path__:
        # Of a checkout only its layers: beside them are other folders, and maybe a home.
        layers = [str(Path(top, layer)) for layer in LAYERS if Path(top, layer).is_dir()]
        wanted += layers or [top]
    user = Path.home().resolve()
    for path in map(Path, filter(None, wanted)):
        if user.is_relative_to(path.resolve()) and not path.resolve().is_relative_to("/usr"):
            raise PluginRefusedError(
                f"Python's folder {path} holds your home, which a sandbox could not hide: install "
                "Cortex into a virtual environment of its own"
            )
        yield path


def hidden_in(paths: Iterable[str], secret: Iterable[Path]) -> tuple[str, ...]:
    """Those of *secret* that lie within one of *paths*, so that they have to be covered."""
    shown = [Path(path).resolve() for path in paths]
    return tuple(
        str(each.resolve())
        for each in secret
        if each.exists() and any(each.resolve().is_relative_to(path) for path in shown)
    )


@functools.cache
def unavailable(program: str = PROGRAM) -> str:
    """Why nothing can be confined here; empty where it can."""
    if sys.platform != "linux":
        return f"bubblewrap is for Linux, and this is {sys.platform}"
    if shutil.which(program) is None:
        return f"there is no program {program}"
    command = confined(["/usr/bin/env", "true"], Walls(()), program=program)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=PROBE_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment_for(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} does not run: {error}"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return f"{program} fails: {said[-1] if said else done.returncode}" if done.returncode else ""


@functools.cache
def _sizes(program: str) -> bool:
    """Whether this bubblewrap, of 0.6 or later, bounds what a folder in memory holds."""
    try:
        done = subprocess.run(
            [program, "--help"],
            capture_output=True,
            timeout=PROBE_S,
            check=False,
            env=environment_for(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"--size " in done.stdout + done.stderr


def _system() -> Iterator[str]:
    for path in SYSTEM:
        if Path(path).is_symlink():
            yield from ("--symlink", str(Path(path).readlink()), path)
        elif Path(path).is_dir():
            yield from ("--ro-bind", path, path)


def _outermost(paths: Iterable[str]) -> list[str]:
    """*paths* that there are, without those inside others and inside /usr."""
    there = sorted({Path(path) for path in paths if Path(path).exists()})
    kept: list[Path] = [Path("/usr")]
    for path in there:
        if not any(path.is_relative_to(outer) for outer in kept):
            kept.append(path)
    return [str(path) for path in kept[1:]]
