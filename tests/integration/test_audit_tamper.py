"""Somebody changes a log, its leaf hashes, its heads or its blobs anywhere: each change is found.

`CORTEX_TAMPERS` says how many changes are tried, 400 by default.
"""

import contextlib
import os
import random
import sqlite3
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import zstandard

from .tampering import (
    FOUND_ALONE,
    Change,
    World,
    cut,
    flipped,
    forged,
    make_world,
    place_of,
    size_of,
)

_verify: Any = import_module("cortex.runtime.audit.verify")

TAMPERS = int(os.environ.get("CORTEX_TAMPERS", "400"))
SEED = 11


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("tampered"))


def at_place(world: World, change: Change, chance: random.Random) -> tuple[tuple[str, int], int]:
    """What is found of a change, and where it was made."""
    place = place_of(world, change, chance)
    return world.checked(), place


@pytest.mark.parametrize("change", FOUND_ALONE, ids=lambda change: change.__name__)
def test_a_change_of_a_row_is_found_where_it_was_made_without_any_head(
    world: World, change: Change
) -> None:
    chance = random.Random(f"{SEED} {change.__name__}")

    for _ in range(max(1, TAMPERS // len(FOUND_ALONE) // 2)):
        (kind, position), place = at_place(world, change, chance)
        assert kind
        assert position == place, (kind, position, place)


@pytest.mark.parametrize(("change", "kind"), [(forged, "fork"), (cut, "cut tail")])
def test_who_makes_the_tree_anew_is_found_by_a_head_that_somebody_else_kept(
    world: World, change: Change, kind: str
) -> None:
    chance = random.Random(f"{SEED} {change.__name__}")

    for _ in range(max(1, TAMPERS // 8)):
        alone, place = at_place(world, change, chance)
        assert alone == ("", 0)  # integrity is not completeness
        found, position = world.checked(world.heads)
        over = [size for size in map(size_of, world.heads) if size >= place]
        assert found == kind
        # A fork shows at the first head over the place, a cut behind what is left.
        assert position == (over[0] if kind == "fork" else place)


def test_a_bit_of_the_file_changes_what_is_found_or_nothing_at_all(world: World) -> None:
    chance = random.Random(SEED)
    whole = (world.folder / "whole.db").read_bytes()
    before, seen = world.rows("whole.db"), Counter[str]()

    for _ in range(max(1, TAMPERS // 4)):
        world.log.write_bytes(flipped(whole, chance))
        kind, _ = world.checked(world.heads)
        if not kind:
            assert world.rows("changed.db") == before
        seen["found" if kind else "nothing changed"] += 1

    assert seen["found"]


def test_a_bit_of_a_head_is_found_unless_it_is_of_a_signature_that_is_not_asked_for(
    world: World,
) -> None:
    chance = random.Random(SEED)
    note = world.heads[-1].read_bytes()
    changed = world.folder / "changed.note"
    world.fresh()

    for _ in range(max(1, TAMPERS // 8)):
        key = chance.choice(world.keys)
        one = world._replace(keys=(key,))
        data = flipped(note, chance)
        changed.write_bytes(data)
        if one.checked((changed,))[0] == "":
            name, _, _ = key.partition("+")
            assert said_by(name, data) == said_by(name, note)


def said_by(name: str, note: bytes) -> tuple[bytes, list[bytes]]:
    """The text of a head, and the bytes of the signatures under it by *name*."""
    head = _verify.parsed_head(note.decode())
    return head.text, [data for signer, _, data in head.signatures if signer == name]


def test_a_bit_of_a_blob_is_found_or_is_none_of_the_payload(world: World, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    (blob,) = (path for path in world.blobs.glob("*/*") if path.is_file())
    changed = tmp_path / "blobs" / blob.parent.name / blob.name
    changed.parent.mkdir(parents=True)
    world.fresh()

    whole = zstandard.decompress(blob.read_bytes())

    for _ in range(max(1, TAMPERS // 8)):
        changed.write_bytes(flipped(blob.read_bytes(), chance))
        if world.checked(blobs=tmp_path / "blobs")[0] != "swapped blob":
            # zstd has bits that it does not look at.
            assert zstandard.decompress(changed.read_bytes()) == whole


INNOCENT = (
    "vacuum",
    "reindex",
    "analyze",
    "create table of_somebody_else (x)",
    "pragma journal_mode = wal",
)


def test_what_changes_no_record_accuses_nobody(world: World) -> None:
    chance = random.Random(SEED)

    for _ in range(max(1, TAMPERS // 8)):
        world.fresh()
        with contextlib.closing(sqlite3.connect(world.log, isolation_level=None)) as log:
            for statement in chance.sample(INNOCENT, 3):
                log.execute(statement)
        assert world.checked(world.heads, world.blobs) == ("", 0)
