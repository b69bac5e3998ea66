"""The three tiers together: what is put is found, moves up, and is gone once it is forgotten."""

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from cortex.bus import serving
from cortex.runtime.cache import (
    Cache,
    CacheConfig,
    CacheEntry,
    CacheKey,
    CacheKeyError,
    Database,
    HotTier,
    Tier,
    WarmTier,
    code_digest,
    digest_of,
    statistics_of,
)

from ..cache_world import DAY_NS, SECRET, Clock, cache_in, key_of

A_SECOND = 1_000_000_000
SMALL = CacheConfig(memory_mb=1, disk_mb=1)
HALF = os.urandom(400_000)  # so that two fit a tier of SMALL, and do not compress


def filled(folder: Path, *names: str, subjects: tuple[str, ...] = ()) -> Cache:
    cache = cache_in(folder)
    for name in names:
        cache.put(key_of(name), name.encode(), subjects)
    return cache


def pushed_to_cold(folder: Path, subjects: tuple[str, ...] = ()) -> Cache:
    """A cache whose artefact "first" is in the cold tier alone."""
    cache = cache_in(folder, SMALL)
    for name in ("first", "second", "third", "fourth", "fifth"):
        cache.put(key_of(name), HALF + name.encode(), subjects if name == "first" else ())
    cache.close()
    return cache_in(folder, SMALL)


# Keys


@pytest.mark.parametrize(
    "other",
    [
        CacheKey("test.other", (digest_of("a"), digest_of("b")), 1),
        CacheKey("test.thing", (digest_of("x"), digest_of("b")), 1),
        CacheKey("test.thing", (digest_of("a"), digest_of("x")), 1),
        CacheKey("test.thing", (digest_of("b"), digest_of("a")), 1),
        CacheKey("test.thing", (digest_of("a"),), 1),
        CacheKey("test.thing", (digest_of("a"), digest_of("b"), digest_of("c")), 1),
        CacheKey("test.thing", (digest_of("a"), digest_of("b")), 2),
    ],
    ids=["kind", "first", "second", "order", "fewer", "more", "version"],
)
def test_whatever_of_a_key_changes_nothing_stale_is_found(tmp_path: Path, other: CacheKey) -> None:
    cache = cache_in(tmp_path)
    cache.put(CacheKey("test.thing", (digest_of("a"), digest_of("b")), 1), b"value")
    assert cache.get(CacheKey("test.thing", (digest_of("a"), digest_of("b")), 1)) == b"value"

    assert cache.get(other) is None
    assert cache_in(tmp_path).get(other) is None


@given(
    keys=st.lists(
        st.tuples(
            st.sampled_from(["a", "a.b", "b"]),
            st.lists(st.sampled_from([digest_of(n) for n in "xyz"]), max_size=3).map(tuple),
            st.integers(0, 3),
        ),
        max_size=8,
        unique=True,
    )
)
def test_different_keys_have_different_digests(
    keys: list[tuple[str, tuple[str, ...], int]],
) -> None:
    digests = {CacheKey(*key).digest for key in keys}

    assert len(digests) == len(keys)


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("Test Thing", ()),
        ("", ()),
        ("test.thing", ("anna@example.org",)),
        ("test.thing", ("a" * 63,)),
    ],
)
def test_a_key_of_anything_but_digests_is_refused(kind: str, inputs: tuple[str, ...]) -> None:
    with pytest.raises(CacheKeyError, match=r"holds digests alone") as refused:
        CacheKey(kind, inputs, 1)

    assert "anna" not in str(refused.value)


def test_code_that_changes_is_another_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "made_by_test"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "part.py").write_text("x = 1")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = code_digest(["made_by_test"], ["msgspec"])
    assert code_digest(["made_by_test"], ["msgspec"]) == before

    (package / "inner" / "part.py").write_text("x = 2")

    assert code_digest(["made_by_test"], ["msgspec"]) != before
    assert code_digest(["made_by_test"], ["msgspec", "no-such-package"]) != before


# Tiers and promotion


def test_an_artefact_survives_the_process_and_moves_up_on_access(tmp_path: Path) -> None:
    filled(tmp_path, "first").close()
    cache = cache_in(tmp_path)

    assert cache.get(key_of("first")) == b"first"
    assert cache.get(key_of("first")) == b"first"

    cache.flush()
    hot, warm, _ = statistics_of(tmp_path, cache.config).tiers
    assert (hot.hits, warm.hits) == (1, 1)


def test_what_leaves_the_second_tier_is_archived_and_found_only_by_who_asks(
    tmp_path: Path,
) -> None:
    cache = pushed_to_cold(tmp_path)

    assert cache.get(key_of("first")) is None
    assert cache.get(key_of("first"), cold=True) == HALF + b"first"

    assert cache.get(key_of("first")) == HALF + b"first"
    assert cache_in(tmp_path).get(key_of("first")) == HALF + b"first", "not in the second tier"


def test_a_cold_file_is_found_without_cache_db_and_read_by_any_zstd(tmp_path: Path) -> None:
    pushed_to_cold(tmp_path).close()
    for path in tmp_path.glob("cache.db*"):
        path.unlink()

    assert cache_in(tmp_path).get(key_of("first"), cold=True) == HALF + b"first"

    (file,) = (tmp_path / "cold").rglob(f"{key_of('first').digest.hex()}-*.zst")
    assert digest_of(HALF + b"first") in file.name
    if zstd := shutil.which("zstd"):
        import subprocess

        plain = subprocess.run([zstd, "-dc", file], capture_output=True, check=True).stdout
        assert plain == HALF + b"first"


@given(
    sizes=st.lists(st.integers(0, 300_000), min_size=1, max_size=30),
    memory=st.sampled_from([0, 1_000, 100_000, 400_000]),
)
@settings(max_examples=50)
def test_memory_is_never_over_its_bound(sizes: list[int], memory: int) -> None:
    tier = HotTier(memory)

    for number, size in enumerate(sizes):
        tier.get(key_of(number % 7).digest)
        tier.put(key_of(number % 7).digest, bytes(size))

        assert tier.state().bytes <= memory


def test_a_bound_of_zero_keeps_nothing_there(tmp_path: Path) -> None:
    nowhere = cache_in(tmp_path, CacheConfig(memory_mb=0, disk_mb=0))
    nowhere.put(key_of(1), b"value")

    assert nowhere.get(key_of(1)) is None
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_it_is_in_memory_alone() -> None:
    cache = cache_in(None)
    cache.put(key_of(1), b"value")

    assert cache.get(key_of(1)) == b"value"
    assert cache.get(key_of(2), cold=True) is None


def test_nothing_is_opened_before_the_first_use(tmp_path: Path) -> None:
    cache_in(tmp_path).close()

    assert list(tmp_path.iterdir()) == []


# Removing


def test_a_dropped_key_is_gone_from_every_tier(tmp_path: Path) -> None:
    cache = pushed_to_cold(tmp_path)
    cache.get(key_of("first"), cold=True)

    assert cache.drop([key_of("first"), key_of("fifth").digest, key_of("none")]) >= 2

    for each in (cache, cache_in(tmp_path, SMALL)):
        assert each.get(key_of("first"), cold=True) is None
        assert each.get(key_of("fifth"), cold=True) is None
    assert cache.get(key_of("fourth"), cold=True) is not None


def test_a_forgotten_subject_is_gone_from_every_tier_and_others_stay(tmp_path: Path) -> None:
    cache = pushed_to_cold(tmp_path, subjects=("anna", "ben"))
    cache.put(key_of("warm"), b"warm", ("anna",))
    cache.put(key_of("ben"), b"ben", ("ben",))
    cache.put(key_of("nobody"), b"nobody", ())

    assert cache.forget_subject("anna") == 2

    for each in (cache, cache_in(tmp_path, SMALL)):
        assert each.get(key_of("first"), cold=True) is None
        assert each.get(key_of("warm"), cold=True) is None
        assert each.get(key_of("ben")) == b"ben"
        assert each.get(key_of("nobody")) == b"nobody"
    assert cache.forget_subject("anna") == 0


def test_no_bytes_of_a_forgotten_subject_stay_in_the_files(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    secret = b"anna has the flu" * 3_000
    cache.put(key_of("long"), secret, ("anna",))
    cache.put(key_of("short"), b"anna is well", ("anna",))
    cache.put(key_of("other"), b"other" * 5_000, ())

    cache.forget_subject("anna")

    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"anna" not in held
    assert b"otherother" in held


def test_a_forgotten_subject_leaves_no_ghost() -> None:
    tier = HotTier(40_000)
    for number in range(50):
        tier.put(key_of(number).digest, bytes(2_000), (b"anna",))
        tier.get(key_of(number - number % 3).digest)
    assert tier.state().ghosts

    tier.forget(b"anna")

    assert (tier.state().entries, tier.state().ghosts, tier.state().bytes) == (0, 0, 0)


def test_the_subject_of_the_thread_is_that_of_what_it_puts(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    with serving("s_anna"):
        cache.put(key_of(1), b"of anna")
    cache.put(key_of(2), b"of nobody")

    assert cache.forget_subject("s_anna") == 1

    assert cache.get(key_of(1)) is None
    assert cache.get(key_of(2)) == b"of nobody"


def test_an_artefact_of_two_people_goes_with_either(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    cache.put(key_of(1), b"same text", ("anna",))
    cache.put(key_of(1), b"same text", ("ben",))

    cache.forget_subject("anna")

    assert cache_in(tmp_path).get(key_of(1), cold=True) is None
    assert cache.get(key_of(1)) is None


def test_an_archived_artefact_becomes_theirs_from_whose_data_it_is_made_again(
    tmp_path: Path,
) -> None:
    pushed_to_cold(tmp_path).close()
    pushed_to_cold(tmp_path, subjects=("anna",)).close()
    pushed_to_cold(tmp_path, subjects=("ben",)).close()
    cache = cache_in(tmp_path, SMALL)
    name = key_of("first").digest.hex()
    assert len(list((tmp_path / "cold").rglob(f"{name}-*"))) == 1

    cache.forget_subject("anna")

    assert list((tmp_path / "cold").rglob(f"{name}-*")) == []


def test_no_file_names_a_subject(tmp_path: Path) -> None:
    pushed_to_cold(tmp_path, subjects=("anna@example.org",)).close()

    for path in tmp_path.rglob("*"):
        assert "anna" not in path.name
        assert not path.is_file() or b"anna@example" not in path.read_bytes()


@pytest.mark.parametrize("tier", ["L1", "L2", "L3"])
def test_one_tier_can_be_emptied_alone(tmp_path: Path, tier: Tier) -> None:
    cache = pushed_to_cold(tmp_path)
    cache.get(key_of("fifth"))

    assert cache.clear([tier])[tier] > 0

    cache.flush()
    hot, warm, cold = (each.entries for each in statistics_of(tmp_path, SMALL).tiers)
    assert (hot == 0, warm == 0, cold == 0) == (tier == "L1", tier == "L2", tier == "L3")


def test_another_process_drops_from_its_memory_what_was_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    ours, theirs = cache_in(tmp_path), cache_in(tmp_path, None, clock)
    for name, subjects in (("kept", ()), ("of anna", ("anna",)), ("dropped", ())):
        ours.put(key_of(name), b"value", subjects)
        theirs.get(key_of(name))

    ours.forget_subject("anna")
    ours.drop([key_of("dropped")])
    clock.ns += A_SECOND

    assert theirs.get(key_of("of anna")) is None
    assert theirs.get(key_of("dropped")) is None
    assert theirs.get(key_of("kept")) == b"value"


# Files that are damaged, planted, gone or full


@pytest.mark.parametrize(
    "content", [b"", b"no database at all" * 1_000, b"SQLite format 3\0" + bytes(5_000)]
)
def test_a_damaged_file_is_made_again_with_one_line_in_the_log(
    tmp_path: Path, content: bytes
) -> None:
    filled(tmp_path, "first").close()
    (tmp_path / "cache.db").write_bytes(content)
    cache = cache_in(tmp_path)

    with capture_logs() as lines:
        assert cache.get(key_of("first")) is None
        cache.put(key_of("second"), b"second")
        assert cache_in(tmp_path).get(key_of("second")) == b"second"

    assert [line["event"] for line in lines] == (["cache_made_again"] if content else [])


def test_damage_in_the_middle_of_the_file_costs_values_and_nothing_else(tmp_path: Path) -> None:
    names = [str(number) for number in range(200)]
    cache = cache_in(tmp_path)
    for name in names:
        cache.put(key_of(name), name.encode() * 1_000)
    cache.close()
    path = tmp_path / "cache.db"
    with sqlite3.connect(path) as db:
        db.execute("pragma wal_checkpoint(truncate)")
    data = bytearray(path.read_bytes())
    data[40_000:120_000] = os.urandom(80_000)
    path.write_bytes(data)
    cache = cache_in(tmp_path)

    found = {name: cache.get(key_of(name)) for name in names}
    for name in names:
        cache.put(key_of(name), name.encode() * 1_000)

    assert all(value in (None, name.encode() * 1_000) for name, value in found.items())
    assert None in found.values()
    assert all(cache_in(tmp_path).get(key_of(name)) for name in names)


def test_a_value_that_was_changed_in_the_file_is_never_used(tmp_path: Path) -> None:
    filled(tmp_path, "first", "second").close()
    with sqlite3.connect(tmp_path / "cache.db") as db:
        db.execute("update bodies set value = x'00' where id = 1")
        db.execute(
            "update entries set proof = (select proof from entries where id = 1) where id = 2"
        )
    cache = cache_in(tmp_path)

    assert cache.get(key_of("first")) is None
    assert cache.get(key_of("second")) is None

    cache.flush()
    assert statistics_of(tmp_path, cache.config).tiers[1].broken == 2
    cache.put(key_of("first"), b"made again")
    assert cache_in(tmp_path).get(key_of("first")) == b"made again"


def test_files_that_somebody_else_made_are_never_used(tmp_path: Path) -> None:
    """As those of a checkout that is pulled: they would choose the text of prompts."""
    theirs = Cache(tmp_path, SMALL, secret=b"x" * 32, now_ns=Clock())
    for name in ("first", "second", "third", "fourth", "fifth"):
        theirs.put(key_of(name), HALF + name.encode(), ())
    theirs.close()

    ours = cache_in(tmp_path, SMALL)

    assert ours.get(key_of("fifth")) is None
    assert ours.get(key_of("first"), cold=True) is None


def test_a_file_whose_triggers_bring_back_what_is_removed_is_not_used(tmp_path: Path) -> None:
    Cache(tmp_path, secret=b"x" * 32).put(key_of("theirs"), b"theirs", ())
    with sqlite3.connect(tmp_path / "cache.db") as db:
        db.execute(
            "create trigger back after delete on bodies begin "
            "insert into hints (input) values (old.value); end"
        )
    cache = cache_in(tmp_path)
    cache.put(key_of(1), b"of anna", ("anna",))

    cache.forget_subject("anna")

    with sqlite3.connect(tmp_path / "cache.db") as db:
        assert db.execute("select * from hints").fetchall() == []
        assert db.execute("select * from sqlite_master where type = 'trigger'").fetchall() == []


CHANGES: Sequence[Callable[[bytes], bytes]] = (
    lambda data: data[:-5],
    lambda data: data[:100] + b"\0" * 50 + data[150:],
    lambda _: b"",
    lambda _: b"\xff" * 40,
    lambda data: data[:4] + b"\xff\xff\xff\xff" + data[8:],
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_cold_file_is_a_miss_and_is_removed(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    cache = pushed_to_cold(tmp_path)
    (file,) = (tmp_path / "cold").rglob(f"{key_of('first').digest.hex()}-*.zst")
    file.write_bytes(change(file.read_bytes()))

    assert cache.get(key_of("first"), cold=True) is None

    assert not file.exists()


def test_cache_db_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    clock = Clock()
    cache = cache_in(tmp_path, None, clock)
    cache.put(key_of("first"), b"first")
    (tmp_path / "cache.db").unlink()  # and not what SQLite keeps beside it
    clock.ns += A_SECOND

    cache.put(key_of("second"), b"second")

    other = cache_in(tmp_path)
    assert other.get(key_of("second")) == b"second"
    assert other.get(key_of("first")) is None


def test_the_cold_folder_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    cache = pushed_to_cold(tmp_path)
    shutil.rmtree(tmp_path / "cold")

    assert cache.get(key_of("first"), cold=True) is None
    cache.put(key_of("more"), HALF)
    assert list((tmp_path / "cold").rglob("*.zst"))


def test_a_home_that_cannot_be_written_works_without_the_second_tier(tmp_path: Path) -> None:
    (tmp_path / "cache.db").mkdir()
    (tmp_path / "cold").write_text("in the way")
    cache = cache_in(tmp_path)

    with capture_logs() as lines:
        cache.put(key_of(1), b"value")
        cache.put(key_of(2), b"value")
        assert cache.get(key_of(1)) == b"value"
        assert cache.get(key_of(3), cold=True) is None
        cache.drop([key_of(1)])
        cache.forget_subject("anna")
        cache.clear()
        cache.close()

    assert [line["event"] for line in lines] == ["cache_without_disk"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_works_without_the_second_tier(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    cache = cache_in(tmp_path)

    cache.put(key_of(1), b"value")

    assert cache.get(key_of(1)) == b"value"
    tmp_path.chmod(stat.S_IRWXU)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_keeps_what_was_there_and_never_stops_the_work(tmp_path: Path) -> None:
    database = Database(tmp_path / "cache.db")
    tier = WarmTier(database, 1 << 30, DAY_NS, SECRET, lambda _: None)
    tier.put(CacheEntry.of(key_of("first"), b"first", ()))

    def fill(db: sqlite3.Connection) -> None:
        # SQLite then refuses to grow the file, with the very error of a full disk.
        pages = db.execute("pragma page_count").fetchone()[0]
        db.execute(f"pragma max_page_count = {pages + 2}").fetchall()

    database.run(fill, None)

    with capture_logs() as lines:
        put = [tier.put(CacheEntry.of(key_of(n), os.urandom(50_000), ())) for n in range(5)]

    assert put == [False] * 5
    assert [line["event"] for line in lines] == ["cache_not_used"]
    assert "full" in lines[0]["error"]
    assert database.failures == 5
    assert tier.get(key_of("first").digest) is not None
    database.close()
    assert tier.get(key_of("first").digest) is not None


def test_a_lock_of_another_process_makes_it_miss_and_nothing_else(tmp_path: Path) -> None:
    filled(tmp_path, "first").close()
    other = sqlite3.connect(tmp_path / "cache.db", isolation_level=None)
    other.execute("begin immediate")
    cache = cache_in(tmp_path)

    cache.put(key_of("second"), b"second")

    assert cache.get(key_of("second")) == b"second"
    assert cache.get(key_of("first")) == b"first", "reading needs no lock"
    other.execute("rollback")
    other.close()


def test_a_cold_folder_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "test.thing" / "ab").mkdir(parents=True)
    (elsewhere / "test.thing" / "ab" / "precious.zst").write_text("precious")
    home = tmp_path / "home"
    home.mkdir()
    (home / "cold").symlink_to(elsewhere)
    cache = pushed_to_cold(home)

    cache.get(key_of("first"), cold=True)
    cache.clear()

    assert [path.name for path in elsewhere.rglob("*.zst")] == ["precious.zst"]


# Preloading


def test_a_preload_loads_what_was_used_within_the_window(tmp_path: Path) -> None:
    clock = Clock()
    cache = cache_in(tmp_path, None, clock)
    cache.put(key_of("old"), b"old")
    clock.sleep(31)
    cache.put(key_of("new"), b"new")
    cache.close()
    other = cache_in(tmp_path, None, clock)

    assert other.preload() == 1

    other.get(key_of("new"))
    other.flush()
    hot, warm, _ = statistics_of(tmp_path, other.config).tiers
    assert (hot.hits, warm.hits) == (1, 0)


def test_a_preload_begins_with_what_was_hinted_at_then_with_what_was_used_most(
    tmp_path: Path,
) -> None:
    cache = filled(tmp_path, *"abcd")
    for _ in range(3):
        cache.get(key_of("c"))
    cache.hint([digest_of("d"), digest_of("unknown")])
    cache.close()
    other, left = cache_in(tmp_path), [True, True]

    loaded = other.preload(lambda: bool(left and left.pop()))

    assert loaded == 2
    for name in "dc":
        other.get(key_of(name))
    other.flush()
    hot, warm, _ = statistics_of(tmp_path, other.config).tiers
    assert (hot.hits - 3, warm.hits) == (2, 0), "three are from before"


def test_a_preload_fills_no_more_than_half_of_the_memory(tmp_path: Path) -> None:
    big = CacheConfig(memory_mb=1, disk_mb=10)
    cache = cache_in(tmp_path, big)
    for number in range(10):
        cache.put(key_of(number), os.urandom(200_000))
    cache.close()
    other = cache_in(tmp_path, big)

    assert other.preload() == 2

    other.flush()
    assert 0 < statistics_of(tmp_path, big).tiers[0].bytes <= 500_000


def test_uses_are_recorded_and_survive_the_process(tmp_path: Path) -> None:
    cache = filled(tmp_path, "a", "b")
    for _ in range(4):
        cache.get(key_of("b"))
    cache.close()

    with sqlite3.connect(tmp_path / "cache.db") as db:
        uses = dict(db.execute("select key, uses from entries").fetchall())

    assert uses == {key_of("a").digest: 1, key_of("b").digest: 5}


def test_a_new_format_begins_anew(tmp_path: Path) -> None:
    filled(tmp_path, "first").close()
    with sqlite3.connect(tmp_path / "cache.db") as db:
        db.execute("pragma user_version = 99")

    cache = cache_in(tmp_path)
    cache.put(key_of("second"), b"second")

    assert cache_in(tmp_path).get(key_of("second")) == b"second"


def test_the_files_are_private(tmp_path: Path) -> None:
    cache = pushed_to_cold(tmp_path)
    cache.put(key_of("more"), b"more")

    for path in tmp_path.rglob("*"):
        assert not path.stat().st_mode & 0o077, path


def test_the_secret_is_of_the_user_and_the_same_for_all_processes(tmp_path: Path) -> None:
    one = Cache(tmp_path)
    one.put(key_of(1), b"value")
    one.close()

    assert Cache(tmp_path).get(key_of(1)) == b"value"
    assert Cache(tmp_path, secret=SECRET).get(key_of(1)) is None
