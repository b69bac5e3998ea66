"""A witness cosigns what continues what it saw, and answers as C2SP tlog-witness says."""

import contextlib
import http.client
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from cortex.runtime.audit import (
    AuditError,
    HttpWitness,
    SignedHead,
    SigningKey,
    TreeHead,
    VerifierKey,
    Witness,
    WitnessServer,
)
from cortex.runtime.kernel import Home

from .witness_world import OtherLog, damaged, witness_in

# A witness that is killed after it cosigned, before or after the row is written in its transaction.
PARTS = """
import os, signal, sys
from pathlib import Path
from cortex.runtime.audit import Witness, SigningKey
from cortex.runtime.kernel import Home

class Killed(Witness):
    def _keep(self, *given):
        if sys.argv[3] == "stored":
            super()._keep(*given)
        os.kill(os.getpid(), signal.SIGKILL)

Killed(Home(Path(sys.argv[1]))).add_checkpoint(Path(sys.argv[2]).read_bytes())
"""


@pytest.fixture
def log() -> OtherLog:
    return OtherLog()


@pytest.fixture
def witness(tmp_path: Path, log: OtherLog) -> Witness:
    return witness_in(tmp_path / "w", log)


@pytest.fixture
def server(witness: Witness) -> Iterator[WitnessServer]:
    with WitnessServer(witness) as served:
        yield served


def signers(witness: Witness, signed: SignedHead, lines: str) -> list[VerifierKey]:
    return SignedHead.parse(signed.text() + lines).signers(witness.public_keys())


def test_a_head_that_continues_is_cosigned_by_both_kinds_of_keys(
    witness: Witness, log: OtherLog
) -> None:
    for old, size in ((0, 3), (3, 3), (3, 300), (300, 1_000)):
        reply = witness.add_checkpoint(log.request(old, size))

        assert reply.status == 200, reply.body
        kinds = {key.algorithm for key in signers(witness, log.head(size), reply.body)}
        assert kinds == {"ed25519-cosignature", "ml-dsa-44"}
    assert [(each.origin, each.events) for each in witness.logs()] == [(log.origin, 1_000)]


def test_a_cosignature_says_when_and_is_bound_to_its_time(tmp_path: Path, log: OtherLog) -> None:
    witness_in(tmp_path / "w", log)
    timed = Witness(Home(tmp_path / "w"), clock=lambda: 1_700_000_000.9)

    lines = timed.add_checkpoint(log.request(0, 5)).body
    signed = SignedHead.parse(log.head(5).text() + lines)

    for key in timed.public_keys():
        (data,) = (s.data for s in signed.signatures if s.key_id == key.key_id)
        assert int.from_bytes(data[:8], "big") == 1_700_000_000
        assert key.holds(signed.tree_head, data)
        assert not key.holds(signed.tree_head, (1).to_bytes(8, "big") + data[8:])
        assert not key.holds(signed.tree_head, bytes(8) + data[8:])
        assert not key.holds(signed.tree_head, b"\xff" + data[1:])


def test_the_message_of_a_cosignature_is_that_of_the_standard() -> None:
    from cryptography.hazmat.primitives.asymmetric import ed25519, mldsa

    head = TreeHead("example.com/behind-the-sofa", 20852163, bytes(range(32)))
    for kind, number in (("ed25519-cosignature", 4), ("ml-dsa-44", 6)):
        key = SigningKey.new("witness.example.com/w1", kind)  # type: ignore[arg-type]
        public = key.verifier()
        data = SignedHead.parse(head.text() + "\n" + key.sign(head, 1679315147)).signatures[0].data
        kind_byte = bytes([number])
        expected_id = sha256(b"witness.example.com/w1\n" + kind_byte + public.public).digest()[:4]
        assert public.key_id == expected_id
        assert data[:8] == (1679315147).to_bytes(8, "big")
        if number == 4:
            said = b"cosignature/v1\ntime 1679315147\n" + head.text().encode()
            ed25519.Ed25519PublicKey.from_public_bytes(public.public).verify(data[8:], said)
        else:
            said = b"subtree/v1\n\0\x16witness.example.com/w1" + (1679315147).to_bytes(8, "big")
            said += b"\x1bexample.com/behind-the-sofa" + bytes(8) + (20852163).to_bytes(8, "big")
            said += bytes(range(32))
            mldsa.MLDSA44PublicKey.from_public_bytes(public.public).verify(data[8:], said)


def test_a_fork_is_refused_and_changes_nothing(witness: Witness, log: OtherLog) -> None:
    assert witness.add_checkpoint(log.request(0, 40)).status == 200
    other = log.fork(at=30)

    for size in (40, 41, 100):
        assert witness.add_checkpoint(other.request(40, size)).status == 422, size

    assert witness.add_checkpoint(log.request(40, 50)).status == 200


def test_a_rollback_is_refused(witness: Witness, log: OtherLog) -> None:
    assert witness.add_checkpoint(log.request(0, 40)).status == 200

    for old, size, status in ((0, 20, 409), (20, 20, 409), (40, 20, 400), (20, 40, 409)):
        assert witness.add_checkpoint(log.request(old, size)).status == status, (old, size)

    assert witness.logs()[0].events == 40


def test_a_replay_is_refused(witness: Witness, log: OtherLog) -> None:
    first, second = log.request(0, 10), log.request(10, 20)
    assert [witness.add_checkpoint(each).status for each in (first, second)] == [200, 200]

    assert [witness.add_checkpoint(each).status for each in (first, second)] == [409, 409]


def test_an_old_size_that_is_not_the_newest_is_answered_with_the_newest(
    witness: Witness, log: OtherLog
) -> None:
    assert witness.add_checkpoint(log.request(4, 9)).body == "0\n"
    witness.add_checkpoint(log.request(0, 40))

    reply = witness.add_checkpoint(log.request(9, 50))

    assert (reply.status, reply.body, reply.kind) == (409, "40\n", "text/x.tlog.size")


def test_what_is_no_request_or_of_nobody_known_is_refused_as_the_standard_says(
    witness: Witness, log: OtherLog
) -> None:
    stranger = OtherLog("example.com/other")
    impostor = OtherLog(log.origin)
    empty = TreeHead(log.origin, 0, bytes(32))
    changed = log.request(0, 5).replace(b"\n5\n", b"\n6\n")
    huge = TreeHead(log.origin, (1 << 63), bytes(32))
    for body, status in (
        (b"", 400),
        (b"\xff\xfe", 400),
        (b"old 00\n\n" + log.head(5).text().encode(), 400),
        (b"old 0\n" + b"AAAA\n" + b"\n" + log.head(5).text().encode(), 400),
        (b"old 1\n" + (b"A" * 43 + b"=\n") * 64 + b"\n" + log.head(5).text().encode(), 400),
        (b"old 0\n\n" + log.signed(huge).text().encode(), 400),
        (stranger.request(0, 5), 404),
        (impostor.request(0, 5), 403),
        (changed, 403),
        (b"old 0\n" + b"A" * 43 + b"=\n\n" + log.head(5).text().encode(), 422),
        (b"old 0\n\n" + log.signed(empty).text().encode(), 422),
        (log.request(0, 0), 200),
        (log.request(0, 5), 200),
        (damaged(log.request(5, 9)), 422),
        (log.request(5, 9), 200),
    ):
        reply = witness.add_checkpoint(body)
        assert reply.status == status, (body[:60], reply.body)


def test_signatures_of_strangers_under_a_head_are_left_out(witness: Witness, log: OtherLog) -> None:
    head = log.head(5)
    line = SigningKey.new("example.com/stranger", "ed25519").sign(head.tree_head)

    body = b"old 0\n\n" + head.text().encode() + line.encode()
    assert witness.add_checkpoint(body).status == 200

    kept = witness.checkpoint(sha256(log.origin.encode()).hexdigest())
    assert "example.com/stranger" not in kept.body
    names = {key.name for key in SignedHead.parse(kept.body).signers([log.key.verifier()])}
    assert names == {"example.com/log"}
    assert len(SignedHead.parse(kept.body).signers(witness.public_keys())) == 2


def test_forks_that_a_log_declares_have_heads_of_their_own(tmp_path: Path) -> None:
    log = OtherLog("cortex.local/0123")
    witness = witness_in(tmp_path / "w", log)
    assert witness.add_checkpoint(log.request(0, 40)).status == 200
    forked = log.fork(at=30)
    forked.origin = "cortex.local/0123/abcdef"
    other = OtherLog("cortex.local/01234")

    assert witness.add_checkpoint(forked.request(0, 35)).status == 200
    assert witness.add_checkpoint(other.request(0, 35)).status == 404

    assert [(each.origin, each.events) for each in witness.logs()] == [
        ("cortex.local/0123", 40),
        ("cortex.local/0123/abcdef", 35),
    ]


def test_of_many_that_ask_at_once_each_is_answered_in_some_order(
    witness: Witness, log: OtherLog
) -> None:
    assert witness.add_checkpoint(log.request(0, 10)).status == 200

    with ThreadPoolExecutor(8) as pool:
        bodies = [log.request(10, 11 + n) for n in range(16)]
        replies = [*pool.map(witness.add_checkpoint, bodies)]

    assert sorted(reply.status for reply in replies) == [200] + [409] * 15
    (size,) = (11 + n for n, reply in enumerate(replies) if reply.status == 200)
    assert {reply.body for reply in replies if reply.status == 409} == {f"{size}\n"}


@pytest.mark.parametrize("when", ["cosigned", "stored"])
def test_a_witness_that_is_killed_before_it_answers_has_the_earlier_head(
    tmp_path: Path, witness: Witness, log: OtherLog, when: str
) -> None:
    assert witness.add_checkpoint(log.request(0, 10)).status == 200
    (tmp_path / "body").write_bytes(log.request(10, 20))
    script = tmp_path / "killed.py"
    script.write_text(PARTS)

    for _ in range(3):
        argv = [sys.executable, str(script), str(tmp_path / "w"), str(tmp_path / "body"), when]
        done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True)
        assert done.returncode == -signal.SIGKILL, done.stderr

    # Nothing was answered, so that nobody has a cosignature of what was not kept.
    assert witness.logs()[0].events == 10
    assert witness.add_checkpoint(log.fork(at=10).request(10, 20)).status == 200


def test_a_witness_that_is_killed_after_it_kept_a_head_never_cosigns_another_one(
    tmp_path: Path, witness: Witness, log: OtherLog
) -> None:
    script = tmp_path / "killed.py"
    script.write_text(
        PARTS.replace("Killed(Home", "Witness(Home") + "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "body").write_bytes(log.request(0, 20))

    argv = [sys.executable, str(script), str(tmp_path / "w"), str(tmp_path / "body"), ""]
    done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True)

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert witness.add_checkpoint(log.fork(at=10).request(0, 20)).body == "20\n"
    assert witness.add_checkpoint(log.fork(at=10).request(20, 20)).status == 422
    assert witness.add_checkpoint(log.request(20, 20)).status == 200  # the lost answer


def test_keys_and_store_are_private_and_a_second_init_keeps_them(
    tmp_path: Path, witness: Witness
) -> None:
    before = witness.public_keys()

    assert witness.make("example.com/renamed") == before
    for path in (tmp_path / "w" / "keys").glob("witness*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_damaged_store_is_one_clear_line(tmp_path: Path, witness: Witness, log: OtherLog) -> None:
    (tmp_path / "w" / "keys" / "witness.db").write_bytes(b"no database" * 500)

    with pytest.raises(AuditError, match=r"cannot be used.*new keys"):
        witness.add_checkpoint(log.request(0, 5))


def test_a_witness_whose_store_is_gone_cosigns_nothing(
    tmp_path: Path, witness: Witness, log: OtherLog
) -> None:
    assert witness.add_checkpoint(log.request(0, 20)).status == 200
    (tmp_path / "w" / "keys" / "witness.db").unlink()

    for body in (log.request(0, 30), log.fork(at=10).request(0, 30)):
        with pytest.raises(AuditError, match=r"is gone.*witness init"):
            witness.add_checkpoint(body)
    with WitnessServer(witness) as server:
        assert HttpWitness(server.url).add_checkpoint(log.request(0, 30)).status == 500


# --- over HTTP


def test_it_answers_over_http_on_one_connection(server: WitnessServer, log: OtherLog) -> None:
    host, port = server.server_address[:2]
    connection = http.client.HTTPConnection(str(host), int(port), timeout=10)

    def ask(method: str, path: str, body: bytes | None = None) -> tuple[int, str, str]:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type", ""), answer.read().decode()

    hashed = sha256(log.origin.encode()).hexdigest()
    assert ask("GET", f"/{hashed}/checkpoint")[0] == 404
    status, _, lines = ask("POST", "/add-checkpoint", log.request(0, 5))
    assert (status, lines.count("\u2014 ")) == (200, 2)
    assert ask("POST", "/add-checkpoint", log.request(4, 5)) == (409, "text/x.tlog.size", "5\n")
    assert ask("POST", "/add-checkpoint", log.fork(at=3).request(5, 5))[0] == 422
    assert ask("POST", "/other", log.request(0, 5))[0] == 404
    status, _, note = ask("GET", f"/{hashed}/checkpoint")
    assert (status, SignedHead.parse(note).tree_head) == (200, log.head(5).tree_head)
    assert ask("GET", "/../keys")[0] == 404
    connection.close()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /add-checkpoint HTTP/1.1\r\n\r\n", 411),
        (b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 411),
        (b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", 413),
        (b"POST /add-checkpoint HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"PUT /add-checkpoint HTTP/1.1\r\n\r\n", 501),
    ],
)
def test_what_is_no_request_ends_its_connection_alone(
    server: WitnessServer, log: OtherLog, head: bytes, status: int
) -> None:
    host, port = server.server_address[:2]
    with socket.create_connection((str(host), int(port)), timeout=10) as raw:
        raw.sendall(head)
        answer = raw.recv(4_096)

    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert HttpWitness(server.url).add_checkpoint(log.request(0, 5)).status == 200


def test_a_port_that_is_taken_is_one_clear_line(server: WitnessServer, witness: Witness) -> None:
    with pytest.raises(AuditError, match="cannot be listened on"):
        WitnessServer(witness, int(server.server_address[1]))


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://example.com", "unix:///tmp/x", "https://a@b", "", "https://"]
)
def test_a_url_that_is_none_or_would_leave_this_machine_in_the_clear_is_refused(url: str) -> None:
    with pytest.raises(AuditError, match="https://"):
        HttpWitness(url)


def test_a_witness_that_is_not_there_is_one_clear_line(witness: Witness) -> None:
    with WitnessServer(witness) as served:
        url = served.url

    with pytest.raises(AuditError, match="was not reached"):
        HttpWitness(url).add_checkpoint(b"")


def test_connections_whose_request_never_comes_keep_nobody_out(
    server: WitnessServer, log: OtherLog
) -> None:
    host, port = server.server_address[:2]
    with contextlib.ExitStack() as opened:
        for _ in range(100):  # more than may be open at once
            raw = opened.enter_context(socket.create_connection((str(host), int(port)), timeout=10))
            raw.sendall(b"POST /add-checkpoint HTTP/1.1\r\nContent-")
        assert HttpWitness(server.url).add_checkpoint(log.request(0, 5)).status == 200


def test_a_request_that_is_too_long_in_coming_is_cut(witness: Witness) -> None:
    with WitnessServer(witness, patience_s=0.1) as server:
        host, port = server.server_address[:2]
        with socket.create_connection((str(host), int(port)), timeout=10) as raw:
            raw.sendall(b"POST /add-checkpoint HTTP/1.1\r\n")
            assert raw.recv(1) == b""  # or the test times out
