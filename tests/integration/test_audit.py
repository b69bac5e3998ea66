"""A log that is signed: proofs hold, and what somebody changes is found by another program."""

import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.audit import (
    AuditError,
    Auditing,
    ConsistencyProof,
    Cosigning,
    InclusionProof,
    OfLogs,
    SignedHead,
    SigningKey,
    VerifierKey,
    sign,
    verify,
)
from cortex.runtime.cli import main
from cortex.runtime.kernel import Config, Home, Runtime
from cortex.runtime.log import leaf_hash

from .audit_world import Noted, copy_of, make_signed

EVENTS = 700
HASH_LINE = 45  # characters of a proof for one more level of the tree
VERIFY: Any = import_module("cortex.runtime.audit.verify")
VERIFIER = Path(VERIFY.__file__)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ("example.com/me", "example.com/later")
    return make_signed(tmp_path_factory.mktemp("audit"), names, (EVENTS // 2, EVENTS))


@pytest.fixture
def home(signed: Path, tmp_path: Path) -> Home:
    return copy_of(signed, tmp_path)


def keys(home: Home) -> list[VerifierKey]:
    return Auditing(home).public_keys()


def asked(home: Home, *more: str) -> list[str]:
    said = [word for key in keys(home) for word in ("--key", key.text())]
    newest = Auditing(home).newest_path()
    return [str(home.log_path), "--head", str(newest), *said, "--blobs", str(home.blobs), *more]


def damage(home: Home, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    code = verify(asked(home, "--json"))
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert "error" not in found, found
    assert code == (0 if found["holds"] else 1)
    return found


def changed(home: Home, *statements: str) -> None:
    with sqlite3.connect(home.log_path) as log:
        for statement in statements:
            log.execute(statement)
    log.close()


def test_a_key_is_private_and_what_others_are_given_says_its_name(home: Home) -> None:
    (path, _) = sorted((home.path / "keys").glob("audit-*.key"))

    assert path.stat().st_mode & 0o777 == 0o600
    key = SigningKey.parse(path.read_text())
    assert key.seed.hex() not in repr(key)
    assert VerifierKey.parse(key.verifier().text()) == key.verifier()
    with pytest.raises(AuditError, match="already"):
        Auditing(home).new_key(key.name)


def test_a_head_is_signed_by_every_key_and_read_again(home: Home) -> None:
    head = Auditing(home).sign()

    again = SignedHead.parse(head.text())
    assert again == head
    assert {key.algorithm for key in again.signers(keys(home))} == {"ed25519", "ml-dsa-44"}
    changed_text = head.text().replace(str(head.tree_head.size), "1", 1)
    with pytest.raises(AuditError, match="does not hold"):
        SignedHead.parse(changed_text).signers(keys(home))


@pytest.mark.parametrize("position", [1, 256, 257, EVENTS // 2])
def test_an_event_is_proved_with_the_proof_and_the_keys_alone(
    home: Home, tmp_path: Path, position: int
) -> None:
    auditing = Auditing(home)
    proof, record = auditing.prove(position), auditing.record(position)
    (tmp_path / "p.tlog-proof").write_text(proof.text())
    (tmp_path / "record").write_bytes(record)
    public = keys(home)
    shutil.rmtree(home.path)

    read = InclusionProof.parse((tmp_path / "p.tlog-proof").read_text())
    assert len(read.check(leaf_hash(record), public)) == 2
    with pytest.raises(AuditError, match="is not number"):
        read.check(leaf_hash(record + b"x"), public)
    said = ["--proof", str(tmp_path / "p.tlog-proof"), "--record", str(tmp_path / "record")]
    assert verify([*said, "--key", public[0].text()]) == 0
    (tmp_path / "record").write_bytes(record + b"x")
    assert verify([*said, "--key", public[0].text()]) == 1


def test_a_proof_with_one_kind_of_signatures_is_small(home: Home, tmp_path: Path) -> None:
    witness = Home.create(tmp_path / "witness")
    added = Cosigning(home).add_home("second", witness.path)
    sign(home)
    own = [VerifierKey.parse(text) for text in added.keys]
    position, deepest = EVENTS // 2, 24  # levels of a tree of 10,000,000 events

    limits: dict[OfLogs, int] = {"ed25519": 2_000, "ml-dsa-44": 9_000}
    for kind, most in limits.items():
        proof = Auditing(home).prove(position, kind)
        text, record = proof.text(), Auditing(home).record(position)
        of_log = [key for key in keys(home) if key.algorithm == kind]

        assert len(text) + (deepest - len(proof.path)) * HASH_LINE < most
        signers = InclusionProof.parse(text).check(leaf_hash(record), [*of_log, *own])
        assert len(signers) == 2
        assert VERIFY.check_proof(text, record, [of_log[0].text()]).size >= position


def test_a_proof_with_signatures_that_are_not_there_is_refused(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    Auditing(home).new_key("example.com/one")
    with Runtime(home, components=[]):
        pass

    with pytest.raises(AuditError, match="no key of ml-dsa-44 signed the head"):
        Auditing(home).prove(1, "ml-dsa-44")


def test_a_log_that_grew_is_consistent_with_what_was_signed_before(home: Home) -> None:
    auditing = Auditing(home)
    first = min((home.path / "heads").glob("*.note"))
    old = SignedHead.parse(first.read_text())

    proof = ConsistencyProof.parse(auditing.consistency(old.tree_head.size).text())

    proof.check(old, keys(home))
    other = Auditing(home).consistency(old.tree_head.size - 1)
    with pytest.raises(AuditError, match="does not begin with"):
        ConsistencyProof(old.tree_head.size, other.path, other.head).check(old, keys(home))


def test_the_verifier_needs_nothing_of_cortex(home: Home, tmp_path: Path) -> None:
    alone = tmp_path / "verify.py"
    shutil.copy(VERIFIER, alone)
    hide = "import runpy, sys; sys.modules['cortex'] = sys.modules['msgspec'] = None; "
    run = f"{hide}del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"

    done = subprocess.run(
        [sys.executable, "-I", "-c", run, str(alone), *asked(home)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "all of it holds" in done.stdout
    assert len(VERIFIER.read_text().splitlines()) <= 500
    imported = re.findall(r"^ *(?:from|import) (\w+)", VERIFIER.read_text(), re.MULTILINE)
    assert "cortex" not in imported


@pytest.mark.parametrize(
    ("statements", "kind", "position"),
    [
        (["update events set record = zeroblob(length(record)) where position = 30"], "edit", 30),
        (["delete from events where position = 30"], "deletion", 30),
        (["delete from events where position > 690"], "cut tail", 691),
        (
            [
                "update events set position = 9999 where position = 30",
                "update events set position = 30 where position = 31",
                "update events set position = 31 where position = 9999",
            ],
            "reordering",
            30,
        ),
        (["update events set stream = 'other' where position = 30"], "edit", 30),
        (["update tiles set hashes = zeroblob(length(hashes)) where first = 1"], "edit", 1),
        (["delete from tiles where first > 600"], "deletion", 0),
    ],
)
def test_what_somebody_changes_is_found_at_its_place(
    home: Home,
    capsys: pytest.CaptureFixture[str],
    statements: list[str],
    kind: str,
    position: int,
) -> None:
    assert damage(home, capsys)["holds"]

    changed(home, *statements)

    found = damage(home, capsys)
    assert found["kind"] == kind
    assert not position or found["position"] == position


def test_a_history_that_was_written_anew_is_a_fork_of_what_was_signed(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(home.log_path) as log:
        rows = log.execute("select position, record from events order by position").fetchall()
        last, record = rows[99]
        other = record.replace(b"x.audit.noted", b"x.audit.voted")
        log.execute("update events set record = ? where position = ?", (other, last))
        log.execute("delete from tiles where first <= 256")
        hashes = [leaf_hash(other if at == last else each) for at, each in rows[:256]]
        log.execute("insert into tiles values (1, ?)", (b"".join(hashes),))
    log.close()

    found = damage(home, capsys)

    assert found["kind"] == "fork"
    (home.path / "tree.db").unlink()  # with it, the root is still that of what was signed
    with pytest.raises(AuditError, match="history was changed"):
        Auditing(Home(home.path)).sign()


def test_a_cut_tail_is_found_by_a_head_that_somebody_kept(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(home, "delete from events where position > 640", "delete from tiles where first > 512")
    with sqlite3.connect(home.log_path) as log:
        kept = log.execute("select record from events where position > 512 order by position")
        hashes = b"".join(leaf_hash(record) for (record,) in kept.fetchall())
        log.execute("insert into tiles values (513, ?)", (hashes,))
    log.close()

    found = damage(home, capsys)

    assert (found["kind"], found["position"]) == ("cut tail", 641)


def test_a_log_that_was_restored_is_signed_under_a_new_origin_only(home: Home) -> None:
    auditing = Auditing(home)
    before = auditing.newest()
    assert before is not None
    changed(home, "delete from events where position > 512", "delete from tiles where first > 512")
    with Runtime(home, components=[], config=Config()) as runtime:  # it goes on otherwise
        runtime.client("me").publish(*(Noted(number=-n) for n in range(EVENTS)))

    with pytest.raises(AuditError, match="declare-fork"):
        auditing.sign()
    declared = auditing.sign(declares_fork=True)
    again = auditing.sign()

    (fork,) = auditing.forks()
    assert declared.tree_head.origin == fork.origin
    assert re.fullmatch(re.escape(before.tree_head.origin) + "/[0-9a-f]{13}", fork.origin)
    assert (fork.before, fork.signed) == (before.tree_head.origin, before.tree_head.size)
    assert fork.common == auditing.heads()[0][1].tree_head.size
    assert again == declared
    proof = auditing.prove(600)
    proof.check(leaf_hash(auditing.record(600)), auditing.public_keys())
    assert auditing.newest() == declared


def test_a_damaged_file_of_inner_tiles_is_made_again(home: Home) -> None:
    root = Auditing(home).sign().tree_head.root
    (home.path / "tree.db").write_bytes(b"no database" * 500)
    shutil.rmtree(home.path / "heads")

    assert Auditing(home).sign().tree_head.root == root


def test_a_changed_inner_tile_does_not_accuse_the_log(home: Home) -> None:
    before = Auditing(home).sign()
    with sqlite3.connect(home.path / "tree.db") as tiles:
        tiles.execute("update tiles set hash = zeroblob(32) where level = 1 and number = 0")
    tiles.close()

    assert Auditing(home).sign() == before
    assert Auditing(home).prove(300).head == before


def test_a_swapped_blob_is_found(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    import zstandard

    blob = next(home.blobs.glob("[0-9a-f][0-9a-f]/*"))
    blob.chmod(0o600)
    blob.write_bytes(zstandard.ZstdCompressor().compress(b"another payload"))

    assert damage(home, capsys)["kind"] == "swapped blob"


def test_no_flipped_byte_of_a_record_goes_unseen_and_an_untouched_log_is_never_accused(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(11)
    for _ in range(60):
        position = chance.randrange(1, EVENTS)
        with sqlite3.connect(home.log_path) as log:
            (record,) = log.execute(
                "select record from events where position = ?", (position,)
            ).fetchone()
            at, bit = chance.randrange(len(record)), 1 << chance.randrange(8)
            flipped = record[:at] + bytes([record[at] ^ bit]) + record[at + 1 :]
            log.execute("update events set record = ? where position = ?", (flipped, position))
        log.close()

        assert damage(home, capsys)["position"] == position

        changed(home)
        with sqlite3.connect(home.log_path) as log:
            log.execute("update events set record = ? where position = ?", (record, position))
        log.close()
    assert damage(home, capsys)["holds"]


def test_the_commands_sign_prove_and_verify(
    home: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def ran(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["audit", *words, "--home", str(home.path)]) == code
        return capsys.readouterr().out

    listed = json.loads(ran("key", "list", "--json"))
    assert [row["algorithm"] for row in listed].count("ml-dsa-44") == 1
    assert ran("sign").startswith("cortex.local/")
    assert ran("prove", "5").startswith("c2sp.org/tlog-proof@v1\nindex 4\n")
    assert ran("consistency", "5").startswith("old 5\n")
    ran("record", "5", str(tmp_path / "five"))
    assert "all of it holds" in ran("verify")
    changed(home, "delete from events where position = 7")
    assert ran("verify", code=1).startswith("deletion: position 7")


def test_what_a_user_gets_wrong_is_one_clear_line(
    home: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words, problem in (
        (["prove", "100000"], "has 70"),
        (["key", "new", "two words"], "leave out blanks"),
        (["key", "new", "example.com/me"], "already"),
        (["verify", "--head", str(tmp_path / "none")], "cannot be checked"),
    ):
        capsys.readouterr()
        assert main(["audit", *words, "--home", str(home.path)]) != 0
        said = capsys.readouterr()
        assert problem in said.err + said.out, words
        assert "Traceback" not in said.err
    empty = Home.create(tmp_path / "empty")
    with pytest.raises(AuditError, match="no key"):
        Auditing(empty).sign()
