"""What ends a plugin, when it is started again, and what its walls are made of: all of it pure."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.plugins import Limits
from cortex.plugins.host import Walls, confined
from cortex.runtime.kernel import supervision
from cortex.runtime.secrets import with_names

_output: Any = import_module("cortex.plugins.host.process")
_process: Any = import_module("cortex.plugins.host.process")
_sandbox: Any = import_module("cortex.plugins.host.sandbox")
_secrets: Any = import_module("cortex.plugins.secrets")
output_of = _output.output_of
lines_of = _output.lines_of
path_of = _output.path_of
STEADY_S = _process.BACKOFF.forgiven_s
restarts = _process.restarts
hidden_in = _sandbox.hidden_in
secret = _secrets.secret


def crashed(
    watched: supervision.Watched, allowed: int, *, worked_s: float = 0.1
) -> supervision.Watched:
    """A plugin with so many restarts, after one more life that ended with a crash."""
    ready_ns = watched.since_ns + 1
    watched, _ = supervision.looked_at(watched, watched.again_ns)
    watched, _ = supervision.started(watched, ready_ns)
    now_ns = ready_ns + round(worked_s * 1e9)
    return supervision.failed(watched, "why", now_ns, restarts(Limits(restarts=allowed)))[0]


def test_waits_double_and_after_so_many_crashes_it_is_given_up() -> None:
    watched, waits = crashed(supervision.begin(0)[0], 8), []
    while watched.status == "waiting":
        waits.append((watched.again_ns - watched.since_ns) / 1e9)
        watched = crashed(watched, 8)

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert (watched.status, watched.failures) == ("given up", 9)
    assert crashed(watched, 8) == watched


def test_a_plugin_that_worked_for_a_while_is_forgiven() -> None:
    watched = supervision.Watched("waiting", failures=5)

    assert crashed(watched, 5, worked_s=STEADY_S).failures == 1
    assert crashed(watched, 5, worked_s=STEADY_S - 1).status == "given up"


def test_without_restarts_the_first_crash_is_the_last() -> None:
    assert crashed(supervision.begin(0)[0], 0, worked_s=STEADY_S).status == "given up"


def test_a_confined_command_sees_what_it_is_shown_and_no_network() -> None:
    walls = Walls(("/opt/code",), hidden=("/home/ada/.cortex",), readable=("/srv/notes",))

    line = " ".join(confined(["program", "--option"], walls))

    assert line.startswith("bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL ")
    assert "--share-net" not in line
    assert "--ro-bind /srv/notes /srv/notes" in line
    assert "/etc/resolv.conf" not in line
    assert line.endswith("-- program --option")


@pytest.mark.parametrize("sizes", [True, False])
def test_what_lies_in_memory_is_bounded_where_bubblewrap_can(tmp_path: Path, sizes: bool) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho '    --size BYTES'\n" if sizes else "#!/bin/sh\nexit 1\n")
    program.chmod(0o755)

    line = " ".join(confined(["p"], Walls(()), program=str(program)))

    assert ("--size 268435456 --tmpfs /tmp --size 268435456 --tmpfs /dev/shm" in line) == sizes
    assert "--tmpfs /dev/shm --remount-ro /dev" in line


def test_what_is_hidden_covers_what_was_granted_around_it() -> None:
    walls = Walls((), hidden=("/srv/w/.cortex",), writable=("/srv/w",), network=True)

    line = " ".join(confined(["p"], walls))

    assert line.index("--bind /srv/w /srv/w") < line.index("--tmpfs /srv/w/.cortex")
    assert "--share-net" in line
    assert "/etc/resolv.conf" in line


def test_code_inside_other_code_is_bound_once(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)

    line = " ".join(confined(["p"], Walls((f"{tmp_path}/a/b", f"{tmp_path}/a", "/nowhere"))))

    assert line.count(str(tmp_path)) == 2
    assert "/nowhere" not in line


def test_a_home_has_to_be_hidden_only_where_something_around_it_is_shown(tmp_path: Path) -> None:
    home = tmp_path / "project" / ".cortex"
    home.mkdir(parents=True)

    assert hidden_in([str(tmp_path)], [home]) == (str(home),)
    assert hidden_in([str(tmp_path / "other")], [home]) == ()


def test_output_is_kept_in_bounds_without_secrets(tmp_path: Path) -> None:
    output = output_of(path_of(tmp_path, "ticker"), {"TOKEN": "hunter2hunter2"})

    output.take(b"one\nthe token is hunter2hun")
    output.take(b"ter2\nwithout an end " + b"x" * 10_000)
    output.finish()

    lines = list(lines_of(tmp_path, "ticker", 10))
    assert [line.split(" ", 1)[1] for line in lines[:2]] == ["one", "the token is [TOKEN]"]
    assert all(len(line) < 5_000 for line in lines)
    assert path_of(tmp_path, "ticker").stat().st_mode & 0o777 == 0o600


def test_output_without_an_end_takes_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex.runtime.isolation.child_log.FILE_BYTES", 1_000)
    output = output_of(path_of(tmp_path, "ticker"), {})

    for n in range(500):
        output.take(b"line %d\n" % n)

    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == ["ticker.log", "ticker.log.1"]
    assert sum(path.stat().st_size for path in (tmp_path / "logs").iterdir()) < 3_000
    assert next(iter(lines_of(tmp_path, "ticker", 1))).endswith("line 499")


def test_a_secret_comes_from_the_environment_or_from_a_private_file(tmp_path: Path) -> None:
    folder = tmp_path / "keys" / "secrets"
    folder.mkdir(parents=True)
    (folder / "TOKEN").write_text("from a file\n")
    (folder / "TOKEN").chmod(0o600)

    assert secret(tmp_path, "TOKEN", {}) == "from a file"
    assert secret(tmp_path, "TOKEN", {"TOKEN": "from outside"}) == "from outside"


def test_the_longest_secret_is_taken_out_first() -> None:
    found = with_names("abcdefgh abcd xy", {"A": "abcd", "B": "abcdefgh", "C": "xy"})

    assert found == "[B] [A] xy"
