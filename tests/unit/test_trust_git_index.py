"""Git's index is read as git itself reads it, in every form that git writes."""

import subprocess
from pathlib import Path

import pytest

from cortex.runtime.access.trust import objects_in_git

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.hooksPath=/dev/null")


def git(folder: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(
        ["git", *AUTHOR, *words], cwd=folder, capture_output=True, text=True, check=check
    )
    return done.stdout


def said_by_git(folder: Path, home: str = ".cortex") -> dict[str, frozenset[str]]:
    """What `git ls-files` says of a home."""
    found: dict[str, set[str]] = {}
    for line in git(folder, "ls-files", "-s", "-z", "--", home).split("\0"):
        if line:
            told, _, path = line.partition("\t")
            found.setdefault(path.removeprefix(f"{home}/"), set()).add(told.split()[1])
    return {path: frozenset(objects) for path, objects in found.items()}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a home, among files whose paths come before and after its own."""
    git(tmp_path, "init", "-q", "-b", "main")
    fill(tmp_path)
    return tmp_path


def fill(folder: Path) -> None:
    for name in (
        *(".cortex/config.toml", ".cortex/processes/a.yaml", ".cortex/processes/deep/b.yaml"),
        *(".circleci/config.yml", ".cortexes/c", "a/.cortex/config.toml", "src/x.py", "z" * 200),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}\n")
    git(folder, "add", "-A")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_each_version_of_the_format_is_read(checkout: Path, version: str) -> None:
    if version == "3":  # git writes it where an entry needs more flags
        (checkout / ".cortex" / "later.toml").write_text("")
        git(checkout, "add", "-N", ".cortex/later.toml")
    git(checkout, "update-index", "--index-version", version)

    assert objects_in_git(checkout / ".cortex") == said_by_git(checkout)
    assert len(said_by_git(checkout)) >= 3
    nested = objects_in_git(checkout / "a" / ".cortex")
    assert nested == said_by_git(checkout, "a/.cortex")


def test_a_repository_with_sha_256_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    fill(tmp_path)

    found = objects_in_git(tmp_path / ".cortex")

    assert found == said_by_git(tmp_path)
    assert found
    assert {len(each) for objects in found.values() for each in objects} == {64}


def test_a_work_tree_beside_the_first_has_an_index_of_its_own(checkout: Path) -> None:
    git(checkout, "commit", "-q", "-m", "x")
    other = checkout.parent / f"{checkout.name}-other"
    git(checkout, "worktree", "add", "-q", str(other))
    (other / ".cortex" / "config.toml").write_text("other\n")
    git(other, "add", "-A")

    assert objects_in_git(other / ".cortex") == said_by_git(other)
    assert objects_in_git(other / ".cortex") != objects_in_git(checkout / ".cortex")


def test_a_file_that_is_being_merged_has_all_its_objects(checkout: Path) -> None:
    git(checkout, "commit", "-q", "-m", "x")
    config = checkout / ".cortex" / "config.toml"
    for branch in ("one", "two"):
        git(checkout, "checkout", "-q", "-b", branch, "main")
        config.write_text(f"{branch}\n")
        git(checkout, "commit", "-q", "-a", "-m", branch)

    git(checkout, "merge", "one", check=False)

    assert objects_in_git(checkout / ".cortex") == said_by_git(checkout)
    assert len(said_by_git(checkout)["config.toml"]) == 3


def test_a_split_index_is_not_half_read(checkout: Path) -> None:
    git(checkout, "update-index", "--split-index")

    assert objects_in_git(checkout / ".cortex") is None


@pytest.mark.parametrize(
    "data", [b"", b"DIRC", b"DIRC\0\0\0\x09\0\0\0\x01", b"DIRC\0\0\0\4\0\0\0\7x"]
)
def test_what_is_no_index_cannot_be_told(checkout: Path, data: bytes) -> None:
    (checkout / ".git" / "index").write_bytes(data)

    assert objects_in_git(checkout / ".cortex") is None


def test_a_name_in_other_letters_is_the_same_file_to_some_systems(checkout: Path) -> None:
    (checkout / ".Cortex" / "Processes").mkdir(parents=True)
    (checkout / ".Cortex" / "Processes" / "Evil.yaml").write_text("x")
    git(checkout, "add", "-A")

    found = objects_in_git(checkout / ".cortex")

    assert found is not None
    assert "processes/evil.yaml" in found


def test_a_home_that_is_a_repository_of_its_own_is_seen(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "config.toml").write_text("x")
    git(tmp_path, "add", "-A")

    assert set(objects_in_git(tmp_path) or ()) == {"config.toml"}


def test_without_git_there_is_nothing(tmp_path: Path) -> None:
    assert objects_in_git(tmp_path) == {}
