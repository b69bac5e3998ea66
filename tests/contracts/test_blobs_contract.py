"""What every blob store must do: one suite for files and for memory."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.runtime.log import BlobError, BlobMissingError, Blobs, BlobStore, MemoryBlobs
from cortex.runtime.subjects import PersonalBlobs, SubjectKeys

ABSENT = sha256(b"never put").hexdigest()


@pytest.fixture(params=["files", "memory", "with subjects"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "with subjects":
        return PersonalBlobs(MemoryBlobs(), SubjectKeys(None))
    return BlobStore(tmp_path / "blobs") if request.param == "files" else MemoryBlobs()


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=5_000))
def test_what_was_put_comes_back_under_its_sha256(blobs: Blobs, data: bytes) -> None:
    digest = blobs.put(data)

    assert digest == sha256(data).hexdigest()
    assert blobs.get(digest) == data
    assert blobs.size(digest) == len(data)
    assert blobs.has(digest)


def test_putting_the_same_bytes_again_gives_the_same_digest(blobs: Blobs) -> None:
    assert blobs.put(b"prompt" * 1_000) == blobs.put(b"prompt" * 1_000)


@pytest.mark.parametrize("digest", [ABSENT, "", "../../etc/passwd", ABSENT.upper()])
def test_a_digest_that_was_never_put_is_missing_by_name(blobs: Blobs, digest: str) -> None:
    assert not blobs.has(digest)
    with pytest.raises(BlobMissingError, match="not in this home"):
        blobs.get(digest)
    with pytest.raises(BlobError):
        blobs.size(digest)


def test_a_note_outlives_the_store_and_is_no_blob(blobs: Blobs) -> None:
    blobs.note(ABSENT, b"of alice")
    blobs.note(ABSENT, b"of bob")

    assert blobs.noted() == {ABSENT: b"of bob"}
    assert not blobs.has(ABSENT)
    assert list(blobs.idle(0)) == []
    blobs.unnote(ABSENT)
    blobs.unnote(ABSENT)
    assert blobs.noted() == {}
