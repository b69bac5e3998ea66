"""Exact counts, offline."""

import base64
import hashlib
import importlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import ENCODINGS, EncodingUnknownError, TokenCounter

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

EVALUATION = Path(os.environ.get("CORTEX_EVAL", Path(__file__).parents[3] / "shared" / "eval"))
RANK_FILES = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
# Counted with tiktoken 0.14 over the original rank files.
KNOWN = {
    "o200k_base": {"": 0, "hello world": 2, "<|endoftext|>": 7, "naïve 中文 🎉\r\n\tx": 8},
    "cl100k_base": {"": 0, "hello world": 2, "<|endoftext|>": 7, "naïve 中文 🎉\r\n\tx": 10},
}

texts = st.text(st.characters(codec="utf-8"), max_size=120) | st.text(
    st.sampled_from(" \n\tabAB1.,/é中🎉'=<|>"), max_size=200
)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_are_what_they_were_when_they_were_written_down(encoding: str) -> None:
    counter = TokenCounter(encoding)

    counted = {text: counter.count(text) for text in KNOWN[encoding]}

    assert counted == KNOWN[encoding]


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=200, deadline=None)
@given(text=texts, most=st.integers(0, 60))
def test_a_truncated_text_is_a_prefix_within_its_tokens(
    encoding: str, text: str, most: int
) -> None:
    counter = TokenCounter(encoding)

    cut = counter.truncate(text, most)

    assert text.startswith(cut)
    assert counter.count(cut) <= most
    assert cut == text or counter.count(text) > most


@settings(max_examples=200, deadline=None)
@given(text=texts)
def test_token_lengths_add_up_to_the_text(text: str) -> None:
    counter = TokenCounter()

    lengths = counter.lengths(text)

    assert len(lengths) == counter.count(text)
    assert sum(lengths) == len(text.encode())


def test_truncation_never_splits_a_code_point() -> None:
    counter = TokenCounter()

    cuts = [counter.truncate("👩‍🔬𓀀é" * 5, most) for most in range(40)]

    assert all("�" not in cut for cut in cuts)
    assert [len(cut) for cut in cuts] == sorted(len(cut) for cut in cuts)


def test_lone_surrogates_count_as_the_replacement_character() -> None:
    counter = TokenCounter()

    assert counter.count("a\ud800b") == counter.count("a�b")
    assert counter.truncate("a\ud800b", 2).startswith("a")


def test_a_whitespace_run_that_tiktoken_cannot_encode_is_counted() -> None:
    counter = TokenCounter()
    half = counter.count(" " * 500_000)

    counted = counter.count("a" + " " * 1_000_000 + "b")

    assert 2 * half <= counted <= 2 * half + 3


def test_threads_that_start_together_load_the_ranks_once_and_agree() -> None:
    script = (
        "import threading\n"
        "from cortex.runtime.context import TokenCounter, tokens\n"
        "unpacked, real = [], tokens._unpack\n"
        "tokens._unpack = lambda name: unpacked.append(name) or real(name)\n"
        "counts = []\n"
        "barrier = threading.Barrier(8)\n"
        "def work():\n"
        "    barrier.wait()\n"
        "    counts.append(TokenCounter().count('hello world'))\n"
        "threads = [threading.Thread(target=work) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "print(counts == [2] * 8, unpacked)\n"
    )

    ran = subprocess.run(
        [sys.executable, "-Ic", script], capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "True ['o200k_base']"


def test_it_works_where_the_network_is_forbidden_and_the_cache_is_empty(tmp_path: Path) -> None:
    script = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise AssertionError('the network was used')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from cortex.runtime.context import ENCODINGS, TokenCounter\n"
        "print([TokenCounter(name).count('hello world') for name in ENCODINGS])\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        environment.pop(name, None)

    ran = subprocess.run(
        [sys.executable, "-Ic", script], env=environment, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "[2, 2]"
    assert list(tmp_path.iterdir()) == []  # no rank file was fetched into a cache


def test_an_unknown_encoding_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        EncodingUnknownError, match=r"no token encoding p50k_base: use cl100k_base, o200k_base"
    ):
        TokenCounter("p50k_base")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_equal_those_over_the_original_rank_files(encoding: str) -> None:
    rank_file = EVALUATION / "tiktoken" / "cache" / RANK_FILES[encoding]
    if not rank_file.exists():
        pytest.skip(f"no rank file at {rank_file}: set CORTEX_EVAL")
    lines = (line.split() for line in rank_file.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    module = pytest.importorskip("tiktoken_ext.openai_public")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "load_tiktoken_bpe", lambda *_, **__: ranks)
        original = tiktoken.Encoding(**getattr(module, encoding)())
    counter = TokenCounter(encoding)
    documents = [
        path.read_text(errors="replace")
        for path in sorted((EVALUATION / "corpus").rglob("*"))
        if path.is_file()
    ]

    ours = [counter.count(text) for text in documents]

    assert ours == [len(original.encode_ordinary(text)) for text in documents]
    assert len(documents) > 20


@pytest.mark.parametrize(
    ("encoding", "published"),
    [
        ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
        ("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    ],
)
def test_the_packed_ranks_unpack_to_the_published_rank_file(encoding: str, published: str) -> None:
    room = importlib.import_module(TokenCounter.__module__)
    encoder, lengths = room._load(encoding)

    rank_file = b"".join(
        base64.b64encode(encoder.decode_single_token_bytes(rank)) + b" %d\n" % rank
        for rank in range(len(lengths))
    )

    assert hashlib.sha256(rank_file).hexdigest() == published


def test_nothing_here_opens_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)

    assert TokenCounter().count("hello world") == 2
