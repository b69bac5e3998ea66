"""Kills a program at seeded random points and starts it again, until it comes to its end."""

import fcntl
import os
import random
import select
import subprocess
from collections.abc import Callable, Sequence

import msgspec

PAUSE_MOST_S = 0.005  # between the line and the kill, so that it falls between lines too
PATIENCE_S = 120.0  # a program that says nothing for so long is stuck
AHEAD_BYTES = 4_096  # that it may say before we look: where we stand still, it waits for us


class Killed(msgspec.Struct):
    """What a program said over all of its lives."""

    lines: list[str] = []
    kills: int = 0


def kill_until_done(
    command: Callable[[Sequence[str]], list[str]], *, kills: int, seed: int, lines_most: int
) -> Killed:
    """Run a program that says a line about each thing it did, killing it *kills* times.

    Args:
        command: The program, given all lines that were heard so far.
        kills: How often; afterwards it may come to its end.
        seed: Decides after how many lines each kill comes.
        lines_most: A life is killed before it has said more lines than this.

    Raises:
        AssertionError: It ended with an error, or said nothing for too long.
    """
    chance, killed = random.Random(seed), Killed()
    while killed.kills < kills:
        lines = chance.randrange(1, lines_most + 1)
        if not _live(command(killed.lines), killed, lines, chance.random() * PAUSE_MOST_S):
            return killed
        killed.kills += 1
    assert not _live(command(killed.lines), killed, None, 0.0)
    return killed


def _live(command: list[str], killed: Killed, lines: int | None, pause_s: float) -> bool:
    """One life; whether it was killed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if hasattr(fcntl, "F_SETPIPE_SZ"):  # else it may do all of its work before the first kill
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, AHEAD_BYTES)
        said = b""
        while lines is None or said.count(b"\n") < lines:
            ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
            if not ready:
                process.kill()
                raise AssertionError(f"stuck after {_heard(said)[-5:]}: {process.stderr.read()!r}")
            more = os.read(process.stdout.fileno(), 65_536)
            if not more:
                break
            said += more
        else:
            select.select([], [], [], pause_s)
            process.kill()
        said += process.stdout.read()
        killed.lines += _heard(said)
        errors = process.stderr.read()
    assert process.returncode in (0, -9), errors.decode()
    return process.returncode == -9


def _heard(said: bytes) -> list[str]:
    return said.decode().split("\n")[:-1]  # a line without its end was cut off by the kill
