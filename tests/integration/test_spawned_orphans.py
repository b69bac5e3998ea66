"""A spawned component whose runtime was killed ends at once, and has nothing to say about it."""

import subprocess

import msgspec

from cortex.runtime.isolation import given, interpreter

CHILD = "from cortex.runtime.kernel.spawned_child import main; main()"
BORN = {"component": "cortex.actors.gates:FileExists", "settings": {}, "home": "", "path": []}


def test_a_child_whose_parent_was_killed_while_it_worked_ends_quietly() -> None:
    child = subprocess.Popen(
        interpreter("-c", CHILD),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    frame = msgspec.msgpack.encode(BORN)

    child.stdout.close()  # as by the kill of the parent, before the child can answer
    child.stdin.write(given({}) + len(frame).to_bytes(4, "big") + frame)
    child.stdin.close()
    said = child.stderr.read()
    child.stderr.close()

    assert (said, child.wait()) == (b"", 1)
