"""The one walker of folders: what comes, in which order, and where links lead."""

from pathlib import Path

import pytest

from cortex.runtime.retrieval import Bm25, Walk


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    for name in ("b/two.md", "a/one.md", "a/deep/three.md", ".hidden/four.md", "zero.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def files(walk: Walk) -> list[str]:
    return ["/".join((*parts, entry.name)) for entry, parts, is_folder in walk if not is_folder]


def test_what_is_in_a_folder_comes_by_name_and_folders_before_what_is_in_them(top: Path) -> None:
    come = ["/".join((*parts, entry.name)) for entry, parts, _ in Walk(str(top))]

    assert come == [
        *(".hidden", ".hidden/four.md"),
        *("a", "a/deep", "a/deep/three.md", "a/one.md"),
        *("b", "b/two.md", "zero.md"),
    ]


def test_what_does_not_count_and_what_is_not_entered_stays_out(top: Path) -> None:
    walk = Walk(
        str(top),
        counts=lambda name: not name.startswith("."),
        enters=lambda entry, _: entry.name != "deep",
    )

    assert files(walk) == ["a/one.md", "b/two.md", "zero.md"]


def test_a_link_leads_nowhere_unless_links_are_followed(top: Path) -> None:
    (top / "c").symlink_to(top / "a")

    assert "c/one.md" not in files(Walk(str(top)))
    assert "c/one.md" in files(Walk(str(top), follows=True))


def test_links_are_followed_inside_the_folder_once_and_never_back_up(
    top: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (top / "b" / "out").symlink_to(tmp_path / "outside")
    (top / "b" / "up").symlink_to(top)
    (top / "c").symlink_to(top / "a")
    (top / "d").symlink_to(top / "a")
    (top / "self").symlink_to(top / "self")

    come = files(Walk(str(top), counts=lambda name: name[0] != ".", follows=True))

    assert come == [
        *("a/deep/three.md", "a/one.md", "b/two.md"),
        *("c/deep/three.md", "c/one.md", "self", "zero.md"),
    ]


def test_a_folder_that_is_not_there_is_told_and_gives_nothing(tmp_path: Path) -> None:
    told: list[str] = []

    walk = Walk(str(tmp_path / "gone"), failed=lambda path, *_: told.append(path))

    assert files(walk) == []
    assert told == [str(tmp_path / "gone")]


def test_links_out_of_the_folder_are_followed_where_those_count_and_never_for_ever(
    tmp_path: Path,
) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    (outside / "note").write_text("seen")
    (top / "there").symlink_to(outside)
    (outside / "back").symlink_to(top)

    within = [*files(Walk(str(top), follows=True))]
    beyond = [*files(Walk(str(top), follows=True, outside=True))]

    assert not [name for name in within if name.endswith("note")]
    assert len([name for name in beyond if name.endswith("note")]) == 1


def test_one_text_and_many_at_once_are_scored_alike() -> None:
    import numpy as np

    bm25, weights = Bm25(1.2, 0.6), {"parser": 2.0, "comma": 0.5}
    often = {"parser": [1.0, 0.0], "comma": [3.0, 2.0]}
    lengths = [10.0, 30.0]

    def one(at: int) -> float:
        return bm25.score(weights, lambda w: often[w][at], bm25.damping(lengths[at], 20.0), 0.0)

    one_by_one = [one(0), one(1)]
    together = bm25.score(
        weights,
        lambda word: np.array(often[word], np.float32),
        bm25.damping(np.array(lengths, np.float32), 20.0),
        np.zeros(2, np.float32),
    )

    assert together == pytest.approx(one_by_one)
