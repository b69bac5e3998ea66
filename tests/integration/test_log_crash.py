"""A killed writer loses nothing that it acknowledged; under "full" the disk has it before that."""

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.bus import decode
from cortex.runtime.log import EventLog

APPEND = """
import sys
from cortex.bus import FORMAT, Batch, Receipt, Recorded, Row, SubscriptionState, Work, encode
from cortex.runtime.log import EventLog

path, durability, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
log = EventLog.open(path, durability=durability)
for number in range(batches):
    head, rows = log.state().head, []
    for position in range(head + 1, head + 1 + number % 7 + 1):
        version = log.stream_version("planner/7") + len(rows) + 1
        record = Recorded(FORMAT, position, "planner/7", version, position.to_bytes(16, "big"),
                          position, "a.b", 1, None, None, "t", None, None, b"x" * (number % 97))
        rows.append(Row(position, "planner/7", version, encode(record)))
    last = rows[-1].position
    log.write(Batch(rows=rows, receipts={"c": Receipt("c", last, b"")},
                    standings={"w": SubscriptionState("w", "work", (("*", None),))},
                    work={("w", last): Work("w", last)}, finished=[("w", head)]))
    sys.stdout.write(f"{last}\\n")
    sys.stdout.flush()
"""

ROUNDS = 30  # kills
TRACED = "trace=write,pwrite64,fsync,fdatasync,openat"


def test_no_acknowledged_event_is_lost_to_a_kill(tmp_path: Path) -> None:
    path, moments = tmp_path / "log.db", random.Random(20)
    command = [sys.executable, "-c", APPEND, str(path), "normal", "1000000"]
    acknowledged = 0

    for _ in range(ROUNDS):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(moments.randrange(1, 60)):
                acknowledged = int(process.stdout.readline())
            process.kill()
            # The pipe may hold whole lines that were printed before the kill reached it.
            rest = [line for line in process.stdout.read().split("\n")[:-1] if line]
            acknowledged = int(rest[-1]) if rest else acknowledged
        log = EventLog.open(path)
        state, head = log.state(), log.verify()
        (newest,) = log.read(head - 1, 1, 1)
        log.close()

        assert head >= acknowledged
        assert state.head == head == decode(newest).position
        assert [receipt.number for receipt in state.receipts] == [head]
        assert [work.position for work in state.work] == [head]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_full_durability_syncs_the_write_ahead_log_before_it_acknowledges(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    child = [sys.executable, "-c", APPEND, str(tmp_path / "log.db"), "full", "20"]

    # -y names the file behind each descriptor.
    traced = subprocess.run(
        ["strace", "-f", "-y", "-e", TRACED, "-o", str(trace), *child],
        capture_output=True,
        text=True,
        check=False,
    )
    if traced.returncode != 0 and "ptrace" in traced.stderr:
        pytest.skip("strace is not permitted here")

    assert traced.stdout.count("\n") == 20
    steps = re.findall(
        r"(?:(pwrite64)\(\d+<[^>]*log\.db-wal>|(fsync|fdatasync)\(\d+<[^>]*log\.db-wal>\)"
        r'|(write)\(1<[^>]*>, "\d+\\n")',
        trace.read_text(),
    )
    names = ["".join(step) for step in steps]
    answers = [n for n, name in enumerate(names) if name == "write"]
    assert len(answers) == 20
    for start, end in zip([0, *answers], answers, strict=False):
        written = [n for n in range(start, end) if names[n] == "pwrite64"]
        assert written, "nothing was written before the acknowledgement"
        assert any(names[n] in {"fsync", "fdatasync"} for n in range(written[-1], end))
