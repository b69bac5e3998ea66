"""Pack tiktoken's rank files for runtime/context/ranks: run as `python dev/pack_ranks.py`.

Reads `$CORTEX_EVAL/tiktoken/cache` (default `../shared/eval`, beside the checkout), where the files
have the names tiktoken's own cache gives them, and refuses a file whose sha256 is not the one that
tiktoken expects. Layout of a packed file: zstd over [one length byte a token][all token bytes],
both in rank order; the number of tokens stands in runtime/context/tokens.py.
"""

import base64
import hashlib
import os
import sys
from pathlib import Path

import zstandard

CHECKOUT = Path(__file__).resolve().parents[1]
TARGET = CHECKOUT / "runtime" / "context" / "ranks"

# name -> (name in tiktoken's cache = sha1 of its URL, sha256 that tiktoken expects, tokens)
RANK_FILES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        199_998,
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        100_256,
    ),
}


def tokens_in_rank_order(rank_file: bytes) -> list[bytes]:
    """The tokens of a rank file; rank is the place in the list, from 0."""
    pairs = [line.split() for line in rank_file.splitlines() if line]
    if [int(rank) for _, rank in pairs] != list(range(len(pairs))):
        sys.exit("the rank file is not in rank order: this layout cannot hold it")
    return [base64.b64decode(token) for token, _ in pairs]


def pack(tokens: list[bytes]) -> bytes:
    """Lengths first, bytes after: 2 % smaller than interleaved, and unpacked in one call."""
    body = bytes(map(len, tokens)) + b"".join(tokens)
    return zstandard.ZstdCompressor(level=22).compress(body)


def main() -> None:
    """Verify both rank files and write both packed files."""
    evaluation = Path(os.environ.get("CORTEX_EVAL", CHECKOUT.parent / "shared" / "eval"))
    TARGET.mkdir(exist_ok=True)
    for name, (cached_as, sha256, count) in RANK_FILES.items():
        source = evaluation / "tiktoken" / "cache" / cached_as
        data = source.read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            sys.exit(f"{source} is not the file that tiktoken expects for {name}")
        tokens = tokens_in_rank_order(data)
        if len(tokens) != count:
            sys.exit(f"{name} has {len(tokens)} tokens, not {count}")
        packed = pack(tokens)
        (TARGET / f"{name}.zst").write_bytes(packed)
        print(f"{name}: {count} tokens, {len(packed):,} bytes")


if __name__ == "__main__":
    main()
