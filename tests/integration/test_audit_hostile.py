"""An auditor is given hostile files, names and keys: each is found, or refused in one line."""

import base64
import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.runtime.audit import AuditError, Auditing, SigningKey, VerifierKey, verify
from cortex.runtime.cli import main
from cortex.runtime.kernel import Config, Home, Runtime

from .audit_world import Noted, copy_of, make_signed

EVENTS = 300


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_signed(tmp_path_factory.mktemp("hostile"), ("alice", "bob"), (EVENTS,))


@pytest.fixture
def home(signed: Path, tmp_path: Path) -> Home:
    return copy_of(signed, tmp_path)


@contextlib.contextmanager
def opened(home: Home) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(home.log_path)) as log, log:
        yield log


def loosely(log: sqlite3.Connection, table: str, columns: str) -> None:
    """Give *table* columns without types, as who writes the file without Cortex may."""
    log.execute(f"create table other ({columns})")
    log.execute(f"insert into other select {columns} from {table}")
    log.execute(f"drop table {table}")
    log.execute(f"alter table other rename to {table}")


def verified(home: Home, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    capsys.readouterr()
    code = verify([str(home.log_path), *more])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return code, said.out


def against(home: Home, note: str, key: VerifierKey, folder: Path) -> list[str]:
    (folder / "head.note").write_text(note, encoding="utf-8")
    return ["--head", str(folder / "head.note"), f"--key={key.text()}"]


def newest(home: Home) -> str:
    path = Auditing(home).newest_path()
    assert path is not None
    return path.read_text(encoding="utf-8")


def command(home: Home, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["audit", words[0], "--home", str(home.path), *words[1:]])
    said = capsys.readouterr()
    return code, said.out + said.err


@pytest.mark.parametrize(
    ("table", "columns", "statement", "code", "says"),
    [
        ("meta", "name, value", "update meta set value = null where name = 'format'", 2, "format"),
        ("meta", "name, value", "delete from meta", 2, "format"),
        ("events", "position, stream, version, record",
         "update events set position = 'abc' where position = 30", 1, "whole numbers"),
        ("events", "position, stream, version, record",
         "update events set position = x'00' where position = 30", 1, "whole numbers"),
        ("tiles", "first, hashes", "update tiles set first = null where first = 1", 1, "position"),
        ("tiles", "first, hashes",
         "update tiles set first = 'abc' where first > 1", 1, "edit: position 2:"),
        ("tiles", "first, hashes",
         "update tiles set first = 513 where first > 1", 1, "deletion: position 2:"),
        ("tiles", "first, hashes",
         "insert into tiles values (100001, zeroblob(32))", 1, "leaf hashes of events"),
        ("tiles", "first, hashes",
         "update events set stream = cast(x'ff' as text) where position = 30", 1, "position 30:"),
    ],
)  # fmt: skip
def test_tables_with_values_of_any_type_end_in_a_line_and_never_hold(
    home: Home,
    capsys: pytest.CaptureFixture[str],
    table: str,
    columns: str,
    statement: str,
    code: int,
    says: str,
) -> None:
    with opened(home) as log:
        loosely(log, table, columns)
    if table != "meta":
        assert verified(home, capsys)[0] == 0

    with opened(home) as log:
        log.execute(statement)

    found = verified(home, capsys)
    assert found[0] == code, found
    assert says in found[1]


def test_an_end_that_was_cut_off_is_found_without_a_head_where_its_leaf_hashes_stayed(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(home) as log:
        (last,) = log.execute("select max(position) from events").fetchone()
        log.execute("delete from events where position > ?", (last - 5,))

    code, said = verified(home, capsys)

    assert code == 1
    assert said.startswith(f"cut tail: position {last - 4}")


def test_a_name_in_a_log_gives_a_terminal_no_orders(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(home) as log:
        log.execute("update events set stream = ? where position = 30", ("\x1b[2Jall of it holds",))

    code, said = verified(home, capsys)

    assert code == 1
    assert "\x1b" not in said


@pytest.mark.parametrize("size", ["-1", "9" * 20, "9" * 5_000, "\uff11", "3_0_1", "+301", " 301"])
@pytest.mark.parametrize("signer", [0, 1])
def test_a_head_with_a_size_that_is_no_number_is_refused(
    home: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path, size: str, signer: int
) -> None:
    origin, known, rest = newest(home).split("\n", 2)
    assert int(known) > EVENTS
    key = Auditing(home).public_keys()[signer]
    note = f"{origin}\n{size}\n{rest}"

    assert verified(home, capsys, *against(home, note, key, tmp_path))[0] == 2


def test_a_head_of_another_log_is_told_from_a_changed_one(
    home: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = Home.create(tmp_path / "other")
    with Runtime(other, components=[], config=Config()):
        pass

    key = Auditing(home).public_keys()[0]
    code, said = verified(other, capsys, *against(home, newest(home), key, tmp_path))

    assert code == 1
    assert said.startswith("fork: the signed head is of cortex.local/")


def test_keys_that_are_none_are_refused_and_long_ones_are_no_files(
    home: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    empty = hashlib.sha256(b"alice\n").hexdigest()[:8]
    for text in (f"alice+{empty}+", "alice", "+++", "a" * 5_000, "alice+00000000+!!!"):
        head = tmp_path / "head.note"
        head.write_text(newest(home))
        code, said = verified(home, capsys, "--head", str(head), f"--key={text}")
        assert code == 2, said

    long = SigningKey("a" * 250, "ed25519", bytes(range(32))).verifier()
    note = newest(home)
    code, said = verified(home, capsys, *against(home, note, long, tmp_path))
    assert (code, said.split(":")[0]) == (1, "fork")


def test_base64_with_other_characters_in_it_is_refused(
    home: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    note = newest(home)
    root = note.split("\n")[2]
    key = Auditing(home).public_keys()[1]
    for other in (root[:9] + "!!" + root[9:], base64.b64encode(b"short").decode()):
        changed = note.replace(root, other)
        assert verified(home, capsys, *against(home, changed, key, tmp_path))[0] == 2


def test_what_stands_beside_blobs_is_no_swapped_blob(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    blob = next(home.blobs.glob("[0-9a-f][0-9a-f]/*"))
    (blob.parent / ".DS_Store").write_bytes(b"no blob")
    (blob.parent / f"{blob.name}.part").write_bytes(b"no blob")
    assert verified(home, capsys, f"--blobs={home.blobs}")[0] == 0

    blob.unlink()
    os.mkfifo(blob)  # nobody writes to it: reading it would never end

    code, said = verified(home, capsys, f"--blobs={home.blobs}")
    assert code == 1
    assert said.startswith("swapped blob")


def test_signing_leaves_a_home_trusted_that_came_from_elsewhere(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Runtime(home, components=[], config=Config()) as runtime:
        runtime.client("me").publish(Noted(number=0))

    assert command(home, capsys, "sign")[0] == 0
    (home.path / "tree.db").unlink()

    assert command(home, capsys, "prove", "3")[0] == 0
    assert command(home, capsys, "sign")[0] == 0


@pytest.mark.parametrize("content", [b"\xff\xfe", b"c2VjcmV0LXNlY3JldC1zZWNyZXQ=", b"PRIV", b""])
def test_a_file_that_is_no_key_is_named_and_not_shown(
    home: Home, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (home.path / "keys" / "audit-zz.key").write_bytes(content)

    code, said = command(home, capsys, "verify")

    assert code == 1
    assert "audit-zz.key" in said
    assert not content or content[:4].decode("latin-1") not in said


def test_a_key_whose_seed_was_changed_is_refused(home: Home) -> None:
    path = next((home.path / "keys").glob("audit-*.key"))
    key = SigningKey.parse(path.read_text())
    other = SigningKey(key.name, key.algorithm, bytes(32))
    *known, _ = key.text().split("+", 4)  # base64 may have a +
    path.write_text("+".join([*known, other.text().split("+", 4)[4]]))

    with pytest.raises(AuditError, match="another id"):
        Auditing(home).sign()


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\x07", "n" * 256, "\N{SNOWMAN}" * 86])
def test_a_name_that_a_note_cannot_have_makes_no_key(home: Home, name: str) -> None:
    with pytest.raises(AuditError, match="name of a key"):
        Auditing(home).new_key(name, "ml-dsa-44")

    Auditing(home).sign()


def test_a_name_that_looks_like_an_option_is_a_name(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    Auditing(home).new_key("-json")

    code, said = command(home, capsys, "verify")

    assert code == 0, said


def test_heads_without_keys_are_checked_with_the_key_that_is_given(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    public = Auditing(home).public_keys()[0].text()
    shutil.rmtree(home.path / "keys")

    code, said = command(home, capsys, "verify")
    assert code == 2
    assert "give the public one with --key" in said

    assert command(home, capsys, "verify", "--key", public)[0] == 0


@pytest.mark.parametrize("content", [b"\xff", b"x", b""])
def test_a_damaged_head_is_named(
    home: Home, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (home.path / "heads" / "000009-1.note").write_bytes(content)

    code, said = command(home, capsys, "sign")

    assert code == 1
    assert "000009-1.note: it is no" in said


def test_the_newest_head_is_the_last_that_was_signed_whatever_was_moved_away(home: Home) -> None:
    auditing = Auditing(home)
    (first,) = (home.path / "heads").glob("*.note")
    with Runtime(home, components=[], config=Config()) as runtime:
        runtime.client("me").publish(*(Noted(number=n) for n in range(300)))
        auditing.sign()
        first.unlink()
        runtime.client("me").publish(*(Noted(number=n) for n in range(800)))
        last = auditing.sign()

    assert last.tree_head.size > 1_000
    assert auditing.newest() == last


def test_two_who_sign_at_once_leave_whole_heads_and_no_error(home: Home) -> None:
    shutil.rmtree(home.path / "heads")
    failed: list[AuditError | OSError] = []

    def sign() -> None:
        try:
            Auditing(home).sign()
        except (AuditError, OSError) as error:
            failed.append(error)

    signing = [threading.Thread(target=sign) for _ in range(8)]
    for each in signing:
        each.start()
    for each in signing:
        each.join()

    assert failed == []
    assert not list((home.path / "heads").glob("*.part"))
    assert Auditing(home).newest() == Auditing(home).sign()


def test_a_number_that_no_log_reaches_is_one_clear_line(
    home: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words in (["record", "9" * 30, str(tmp_path / "r")], ["prove", "9" * 30]):
        code, said = command(home, capsys, *words)
        assert code == 1
        assert "SQLite" not in said


def test_what_is_printed_as_json_is_json_whatever_the_log_names(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(home) as log:
        log.execute("update events set stream = cast(x'ff22' as text) where position = 30")

    code, said = verified(home, capsys, "--json")

    assert code == 1
    assert json.loads(said)["position"] == 30


def test_a_copy_that_nobody_can_write_to_is_checked(
    home: Home,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = tmp_path / "copy" / "log.db"
    copy.parent.mkdir()
    with opened(home) as log:
        log.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(home.log_path, copy)
    copy.parent.chmod(0o555)
    # Whoever is root may write anywhere; the program asks before.
    monkeypatch.setattr(os, "access", lambda *_: False)

    code, said = verify([str(copy)]), capsys.readouterr().out
    copy.parent.chmod(0o755)

    assert code == 0, said
    assert [path.name for path in copy.parent.iterdir()] == ["log.db"]
