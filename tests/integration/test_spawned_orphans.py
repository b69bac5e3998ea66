"""A spawned component whose runtime was killed ends at once, and has nothing to say about it."""

import subprocess
import sys

from cortex.runtime.kernel.spawned import Born, send

CHILD = "from cortex.runtime.kernel.spawned_child import main; main()"


def test_a_child_whose_parent_was_killed_while_it_worked_ends_quietly() -> None:
    born = Born("cortex.actors.gates:FileExists", settings={}, home="", path=())
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin and child.stdout and child.stderr

    child.stdout.close()  # as by the kill of the parent, before the child can answer
    send(child.stdin, born)
    child.stdin.close()
    said = child.stderr.read()
    child.stderr.close()

    assert (said, child.wait()) == (b"", 1)
