"""A log whose heads others keep: who cosigned, what they saw, and what a lost tail is."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.runtime.access.trust import give_trust
from cortex.runtime.admin import status_of
from cortex.runtime.audit import (
    AuditError,
    Auditing,
    Cosigning,
    KnownWitness,
    Signed,
    SignedHead,
    VerifierKey,
    Witness,
    WitnessServer,
    heads_to_check,
    report,
    sign,
    verify,
)
from cortex.runtime.cli import main
from cortex.runtime.kernel import Config, ConfigError, Home, NotFoundError, Runtime
from cortex.runtime.serving import Service

from .audit_world import Noted


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.create(tmp_path / "log" / ".cortex")
    Auditing(home).new_key("example.com/log")
    record(home, 5)
    return home


@pytest.fixture
def other(tmp_path: Path) -> Home:
    return Home.create(tmp_path / "witness" / ".cortex")


@pytest.fixture
def witnessed(home: Home, other: Home) -> Home:
    Cosigning(home).add_home("w1", other.path)
    assert sign(home).problems == []
    return home


def record(home: Home, count: int) -> None:
    with Runtime(home, components=[], config=Config()) as runtime:
        runtime.client("me").publish(*(Noted(number=n) for n in range(count)))


def kept(home: Home) -> Path:
    """A copy of a home, to lose the end of its log with."""
    copy = home.path.with_name("kept")
    shutil.copytree(home.path, copy)
    return copy


def put_back(home: Home, copy: Path) -> None:
    shutil.rmtree(home.path)
    shutil.copytree(copy, home.path)
    give_trust(home.path, by="a test", own=True)


def ran(home: Home, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["audit", *words, "--home", str(home.path)])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return code, said.out, said.err


def size(signed: Signed) -> int:
    return signed.head.tree_head.size


def test_a_home_on_this_machine_cosigns_every_head(witnessed: Home, other: Home) -> None:
    record(witnessed, 300)
    done = sign(witnessed)

    assert [answer.cosigned for answer in done.witnesses] == [True]
    assert len(done.head.signers(Witness(other).public_keys())) == 2
    assert Auditing(witnessed).newest() == done.head
    (log,) = Witness(other).logs()
    assert (log.origin, log.events) == (done.head.tree_head.origin, size(done))
    assert sign(witnessed).head == done.head  # nothing is new


def test_a_witness_behind_a_url_cosigns_too(home: Home, other: Home) -> None:
    witness = Witness(other)
    keys = [key.text() for key in witness.make("example.com/witness")]
    witness.accept(Auditing(home).origin(), Auditing(home).public_keys())
    with WitnessServer(witness) as server:
        Cosigning(home).add_url("far", server.url + "/", keys)
        assert sign(home).problems == []
        record(home, 3)
        done = sign(home)

    assert len(done.head.signers([VerifierKey.parse(key) for key in keys])) == 2
    record(home, 3)
    (problem,) = sign(home).problems
    assert "was not reached" in problem


def test_a_head_that_was_signed_while_the_witness_was_away_is_cosigned_later(
    home: Home, other: Home
) -> None:
    sign(home)
    Cosigning(home).add_home("w1", other.path)
    aside = other.path.rename(other.path.with_name("away"))
    assert len(sign(home).problems) == 1

    aside.rename(other.path)
    done = sign(home)

    assert done.problems == []
    assert len(done.head.signers(Witness(other).public_keys())) == 2


def test_a_signer_that_is_killed_before_the_witness_answers_goes_on(
    witnessed: Home, other: Home, tmp_path: Path
) -> None:
    record(witnessed, 4)
    for method in ("_cosigned_by", "_newest_size"):
        script = tmp_path / "killed.py"
        script.write_text(
            "import os, signal\nfrom pathlib import Path\n"
            "from cortex.runtime.audit import Auditing, Cosigning, Witness\n"
            "from cortex.runtime.kernel import Home\n"
            f"home = Home(Path({str(witnessed.path)!r}))\n"
            "signed = Auditing(home).sign()\n"
            "class Killed(Cosigning):\n"
            f"    def {method}(self, *given):\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "Killed(home).cosign(signed)\n"
        )
        done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=False)
        assert done.returncode == -signal.SIGKILL

    # The witness may be ahead of what the log stored: its answer was lost.
    signed = Auditing(witnessed).newest()
    assert signed is not None
    lost = Auditing(witnessed).grown_from(Witness(other).logs()[0].events, signed)
    assert Witness(other).add_checkpoint(lost.text().encode()).status == 200
    assert sign(witnessed).problems == []


def test_a_cut_tail_below_the_last_witnessed_head_is_found(
    witnessed: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = kept(witnessed)
    record(witnessed, 6)
    seen = size(sign(witnessed))
    assert ran(witnessed, capsys, "verify", "--heads")[0] == 0
    put_back(witnessed, copy)

    assert ran(witnessed, capsys, "verify")[0] == 0  # by what is in the home, nothing is missing
    code, out, _ = ran(witnessed, capsys, "verify", "--heads")

    assert code == 1
    assert out.startswith("cut tail: position ")
    assert f"{seen:,} events" in out


def test_a_log_that_goes_on_otherwise_after_a_loss_is_cosigned_by_nobody(
    witnessed: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = kept(witnessed)
    record(witnessed, 6)
    sign(witnessed)
    put_back(witnessed, copy)
    record(witnessed, 30)

    code, _, err = ran(witnessed, capsys, "sign")

    assert code == 1
    assert "422" in err
    assert ran(witnessed, capsys, "verify", "--heads")[1].startswith("fork: ")


def test_a_loss_that_is_declared_is_no_accusation(
    witnessed: Home, other: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = Auditing(witnessed).heads()[-1][1].tree_head
    copy = kept(witnessed)
    record(witnessed, 6)
    lost = size(sign(witnessed))
    put_back(witnessed, copy)
    record(witnessed, 30)
    assert sign(witnessed).problems  # a head that nobody believes is no common position

    declared = sign(witnessed, declares_fork=True)

    assert declared.problems == []
    (fork,) = Auditing(witnessed).forks()
    assert (fork.common, fork.root) == (shared.size, shared.root.hex())
    assert (fork.before, fork.origin) == (shared.origin, declared.head.tree_head.origin)
    assert fork.signed >= lost
    code, out, err = ran(witnessed, capsys, "verify", "--heads")
    assert code == 0, out
    assert f"declared fork: witness w1 saw {lost:,} events" in err
    assert f"has the first {shared.size:,}" in err
    assert [log.events for log in Witness(other).logs()] == [lost, size(declared)]


def test_a_second_loss_is_a_fork_of_the_first_one(witnessed: Home) -> None:
    for _ in range(2):
        copy = kept(witnessed)
        record(witnessed, 6)
        sign(witnessed)
        put_back(witnessed, copy)
        shutil.rmtree(copy)
        sign(witnessed, declares_fork=True)

    first, second = Auditing(witnessed).forks()

    assert second.before == first.origin != second.origin
    assert second.common > first.common
    with heads_to_check(witnessed) as seen:
        assert (len(seen.declared), len(seen.files)) == (2, 1)


def test_one_epoch_declares_one_fork(witnessed: Home) -> None:
    copy = kept(witnessed)
    record(witnessed, 6)
    sign(witnessed)
    put_back(witnessed, copy)
    with Service(witnessed):
        sign(witnessed, declares_fork=True)
        with pytest.raises(AuditError, match="nothing that was signed is lost"):
            sign(witnessed, declares_fork=True)

        assert sign(witnessed).problems == []
        with heads_to_check(witnessed) as seen:
            assert (len(seen.declared), len(seen.files)) == (1, 1)


def test_where_nothing_is_lost_no_fork_is_declared(witnessed: Home) -> None:
    record(witnessed, 6)
    signed = size(sign(witnessed))

    with pytest.raises(AuditError, match=f"the log has all {signed:,} signed events"):
        sign(witnessed, declares_fork=True)

    assert Auditing(witnessed).forks() == []


def test_a_declaration_that_is_not_true_is_none(witnessed: Home, other: Home) -> None:
    from cortex.bus.events import LogForkDeclared

    origin = Auditing(witnessed).origin()
    lie = LogForkDeclared(origin=f"{origin}/1", before=origin, signed=9, common=3, root="00" * 32)
    with Runtime(witnessed, components=[], config=Config()) as runtime:
        runtime.client("me").publish(lie)

    assert Auditing(witnessed).forks() == []


def test_a_witness_of_the_same_user_counts_as_none(
    witnessed: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = Cosigning(witnessed).standings()

    assert (row.events, row.counts, row.why_not) == (
        report(witnessed).at,
        False,
        "it is of the same user",
    )
    assert status_of(witnessed).witnesses == [row]
    assert "counts as none" in ran(witnessed, capsys, "report")[1]
    (head,) = report(witnessed).heads
    assert head.witnessed_by == ["w1"]


@pytest.mark.parametrize(
    ("url", "counts"), [("http://127.0.0.1:1", False), ("https://witness.example.com/w", True)]
)
def test_a_witness_elsewhere_counts(url: str, counts: bool) -> None:
    known = KnownWitness("w", (), url=url)

    assert (known.counts_not() == "") == counts


def test_the_verifier_alone_checks_cosignatures(
    witnessed: Home, other: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Auditing(witnessed).newest_path()
    assert path is not None
    for key in Witness(other).public_keys():
        said = [str(witnessed.log_path), "--head", str(path), "--key", key.text()]
        assert verify(said) == 0, key.algorithm

        signed = SignedHead.parse(path.read_text())
        line = next(s for s in signed.signatures if s.key_id == key.key_id)
        later = (int.from_bytes(line.data[:8], "big") + 1).to_bytes(8, "big") + line.data[8:]
        changed = SignedHead(signed.tree_head, (line._replace(data=later),))
        (tmp_path / "changed.note").write_text(changed.text())
        said[2] = str(tmp_path / "changed.note")
        assert verify(said) == 1, key.algorithm
    assert "does not hold" in capsys.readouterr().out


def test_what_a_user_gets_wrong_is_one_clear_line(
    home: Home, other: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    empty = Home.create(tmp_path / "empty")
    key = Auditing(home).public_keys()[0].text()
    for where, words, problem in (
        (home, ["verify", "--heads"], "there is no witness"),
        (home, ["witness", "add", "w"], "give --folder"),
        (home, ["witness", "add", "w", "--url", "https://x.example"], "public keys of the witness"),
        (home, ["witness", "add", "w", "--url", "https://x.example", "--key", key], "of a log"),
        (home, ["witness", "add", "w", "--url", "http://x.example", "--key", key], "leaves this"),
        (home, ["witness", "add", "w", "--folder", str(home.path)], "no witness of itself"),
        (home, ["witness", "add", "w", "--folder", str(tmp_path)], "home"),
        (home, ["witness", "add", "a b", "--folder", str(other.path)], "no name"),
        (home, ["witness", "remove", "w"], "is none here"),
        (home, ["witness", "serve"], "no witness: cortex audit witness init"),
        (home, ["witness", "accept", "x"], "no witness"),
        (empty, ["witness", "add", "w", "--folder", str(other.path)], "no key that signs"),
    ):
        code, out, err = ran(where, capsys, *words)
        assert code != 0, words
        assert problem in out + err, (words, err)
    Cosigning(home).add_home("w", other.path)
    assert "already" in ran(home, capsys, "witness", "add", "w", "--folder", str(other.path))[2]
    (home.path / "keys" / "witnesses.json").write_text("{")
    assert "cannot be read" in ran(home, capsys, "witness", "list")[2]


def test_the_commands_of_a_witness(
    home: Home, other: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    key = Auditing(home).public_keys()[0].text()
    made = json.loads(ran(other, capsys, "witness", "init", "example.com/w", "--json")[1])
    assert len(made["keys"]) == 2
    assert ran(other, capsys, "witness", "accept", Auditing(home).origin(), "--key", key)[0] == 0
    assert Auditing(home).origin() in ran(other, capsys, "witness", "logs")[1]
    assert ran(home, capsys, "witness", "add", "w", "--folder", str(other.path))[0] == 0
    signed = json.loads(ran(home, capsys, "sign", "--json")[1])
    assert [row["cosigned"] for row in signed["witnesses"]] == [True]
    assert "same user" in ran(home, capsys, "witness", "list")[1]
    assert ran(home, capsys, "witness", "remove", "w")[0] == 0
    with pytest.raises(NotFoundError):
        Cosigning(home).remove("w")


def test_serve_answers_until_it_is_told_to_end(home: Home, other: Home, tmp_path: Path) -> None:
    witness = Witness(other)
    keys = [key.text() for key in witness.make("example.com/witness")]
    witness.accept(Auditing(home).origin(), Auditing(home).public_keys())
    cortex = Path(sys.executable).parent / "cortex"
    argv = [str(cortex), "audit", "witness", "serve", "--home", str(other.path)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as served:
        try:
            assert served.stdout is not None
            url = served.stdout.readline().strip()
            Cosigning(home).add_url("far", url, keys)
            assert sign(home).problems == []
            served.send_signal(signal.SIGTERM)
            assert served.wait(20) == 0
        finally:
            served.kill()


def handing(home: Home, text: str) -> None:
    home.config_path.write_text(text)


def test_heads_are_handed_to_a_file_a_folder_a_repository_and_a_command(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "share").mkdir()
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repo")], check=True)
    handing(
        home,
        f'[[audit.heads]]\nfile = "{tmp_path}/newest.note"\n'
        f'[[audit.heads]]\nfile = "{tmp_path}/share"\n'
        f'[[audit.heads]]\ngit = "{tmp_path}/repo"\n'
        f'[[audit.heads]]\ncommand = ["cp", "-t", "{tmp_path}"]\n',
    )

    first = sign(home)
    record(home, 3)
    second = sign(home)
    again = sign(home)

    assert [*first.problems, *second.problems, *again.problems] == []
    assert (tmp_path / "newest.note").read_text() == second.head.text()
    assert len([*(tmp_path / "share").iterdir()]) == 2
    listed = ["git", "-C", str(tmp_path / "repo"), "log", "--format=%s"]
    subjects = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\n")
    origin = first.head.tree_head.origin
    assert subjects[:-1] == [f"{origin} {size(second)}", f"{origin} {size(first)}"]
    assert len([*tmp_path.glob("00000*.note")]) == 2


def test_a_receiver_that_cannot_take_a_head_is_named_and_the_head_is_signed(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handing(
        home,
        f'[[audit.heads]]\nfile = "{tmp_path}/none/newest.note"\n'
        f'[[audit.heads]]\ngit = "{tmp_path}"\n'
        '[[audit.heads]]\ncommand = ["false"]\n'
        '[[audit.heads]]\ncommand = ["no-such-program"]\n',
    )

    code, _, err = ran(home, capsys, "sign")

    assert code == 1
    assert err.count("not handed to") == 4
    assert Auditing(home).newest() is not None


def test_a_receiver_that_is_two_or_none_is_one_clear_line(home: Home) -> None:
    for text in ("", 'file = "a"\ngit = "b"\n'):
        handing(home, f"[[audit.heads]]\n{text}")
        with pytest.raises(ConfigError, match="one of file, git and command"):
            Config.load(home)


def test_a_home_that_is_no_witness_has_no_logs(other: Home) -> None:
    assert Witness(other).logs() == []
    with pytest.raises(AuditError, match="no origin"):
        Witness(other).accept("", [])
