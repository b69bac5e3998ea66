"""What a pull hides in a trusted home: behind a link, a name, another repository, or a moment."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cortex.runtime.access.trust import UntrustedHomeError, digest_at, give_trust
from cortex.runtime.kernel import Home

from ..waiting import until
from .test_untrusted_home import SETTINGS, commit, git

PROCESS = "process: p\nversion: {}\nsteps: []\n"


def made(folder: Path) -> Home:
    """A home that this user made in a checkout, and trusts."""
    folder.mkdir(parents=True)
    home = Home.create(folder / ".cortex")
    home.config_path.write_text(SETTINGS)
    home.require_trust()
    commit(folder)
    home.require_trust()
    return home


def branched(folder: Path) -> None:
    git(folder, "checkout", "-q", "-b", "their")


def merged(folder: Path) -> None:
    commit(folder, "-f", "-A", ".")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-edit", "their")


@pytest.mark.parametrize(
    "name", ["knowledge", "blobs", "logs", "worktrees", "vectors", "bus.sock", "up.json", "cold"]
)
def test_a_folder_that_becomes_a_link_is_asked_about(name: str, tmp_path: Path) -> None:
    """What is only read or written would be read and written elsewhere: in ~/.config, say."""
    home = made(tmp_path / "mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = home.path / name
    if place.is_dir():
        place.rmdir()
    branched(home.workspace)
    place.symlink_to(elsewhere)
    git(home.workspace, "add", "-f", f".cortex/{name}")
    merged(home.workspace)

    with pytest.raises(UntrustedHomeError, match=rf"{name} \(a link\) is new"):
        home.require_trust()
    before = digest_at(home.path)
    place.unlink()
    place.symlink_to(tmp_path)
    assert digest_at(home.path) != before
    give_trust(home.path, by="a test")
    home.require_trust()
    place.unlink()
    place.symlink_to(elsewhere)
    with pytest.raises(UntrustedHomeError, match=rf"{name} \(a link\) was changed"):
        home.require_trust()


def test_names_that_are_written_alike_are_told_apart(tmp_path: Path) -> None:
    home = made(tmp_path / "mine")
    (home.processes / r"a\xff.yaml").write_text(PROCESS.format(1))
    home.require_trust()
    commit(home.workspace)
    home.require_trust()
    before = digest_at(home.path)
    branched(home.workspace)
    Path(os.fsdecode(os.fsencode(home.processes) + b"/a\xff.yaml")).write_text(PROCESS.format(2))
    merged(home.workspace)

    assert digest_at(home.path) != before
    with pytest.raises(UntrustedHomeError, match="is new: version control brought it"):
        home.require_trust()


@pytest.mark.parametrize("folder", [r"pro\xffject", "Gr\u00f6\u00dfe"])
def test_a_checkout_below_an_odd_name_is_asked_about_as_any_other(
    folder: str, tmp_path: Path
) -> None:
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    home = Home.create(top / folder / ".cortex")
    home.config_path.write_text(SETTINGS)
    home.require_trust()
    commit(top, ".")
    home.require_trust()
    branched(top)
    (home.processes / "p.yaml").write_text(PROCESS.format(1))
    merged(top)

    with pytest.raises(UntrustedHomeError, match=r"processes/p.yaml is new: version control"):
        home.require_trust()


@pytest.mark.parametrize("how", ["submodule", "clone"])
def test_what_a_repository_within_the_home_brings_is_asked_about(how: str, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "p.yaml").write_text(PROCESS.format(1))
    commit(theirs, ".")
    home = made(tmp_path / "mine")
    home.processes.rmdir()
    allowed = ("-c", "protocol.file.allow=always")
    if how == "submodule":
        added = ("submodule", "add", "-q", "-f", str(theirs), ".cortex/processes")
        git(home.workspace, *allowed, *added)
        commit(home.workspace, ".")
    else:
        git(home.path, "clone", "-q", str(theirs), "processes")
    give_trust(home.path, by="a test", own=True)
    home.require_trust()
    (theirs / "p.yaml").write_text(PROCESS.format(2))
    commit(theirs, ".")

    if how == "submodule":
        git(home.workspace, *allowed, "submodule", "update", "-q", "--remote")
    else:
        git(home.processes, "pull", "-q")

    assert "version: 2" in (home.processes / "p.yaml").read_text()
    with pytest.raises(UntrustedHomeError, match=r"processes/p.yaml was changed"):
        home.require_trust()


def text_of(path: Path) -> str:
    """What stands in a file; "" in the moment in which git puts another in its place."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def test_what_git_is_just_bringing_is_no_own_edit(tmp_path: Path) -> None:
    """Files are written first, and the index last: between the two, they look like own edits."""
    home = made(tmp_path / "mine")
    folder = home.workspace
    branched(folder)
    home.config_path.write_text(SETTINGS.replace("make", "curl"))
    (folder / ".gitattributes").write_text("z.txt filter=slow\n")
    (folder / "z.txt").write_text("z")
    merged_into = tmp_path / "go-on"
    os.mkfifo(merged_into)
    commit(folder, ".")
    git(folder, "checkout", "-q", "main")
    home.require_trust()

    slow = f"filter.slow.smudge=cat {merged_into}"
    merging = threading.Thread(target=git, args=(folder, "-c", slow, "merge", "-q", "their"))
    merging.start()
    try:
        until(lambda: "curl" in text_of(home.config_path))
        with pytest.raises(UntrustedHomeError, match="git is at work"):
            home.require_trust()
    finally:
        merged_into.write_text("z")
        merging.join()

    with pytest.raises(UntrustedHomeError, match=r"config.toml was changed: version control"):
        home.require_trust()


def test_an_own_edit_beside_git_at_work_is_taken_once_git_is_done(tmp_path: Path) -> None:
    home = made(tmp_path / "mine")
    lock = home.workspace / ".git" / "index.lock"
    lock.touch()
    home.require_trust()  # nothing has changed

    home.config_path.write_text(SETTINGS + "# mine\n")

    with pytest.raises(UntrustedHomeError, match="git is at work"):
        home.require_trust()
    lock.unlink()
    home.require_trust()


def test_a_trust_that_is_killed_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    home = made(tmp_path / "mine")
    git(home.workspace, "rm", "-q", "--cached", "-r", ".cortex")
    for n in range(12):
        (home.processes / f"p{n}.yaml").write_text(PROCESS.format(n + 1))
        child = subprocess.Popen(
            [sys.executable, "-Ic", _TRUST, str(home.path)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.read(1)  # it begins
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.001 * n)
        child.kill()
        child.communicate()
    give_trust(home.path, by="a test")
    home.require_trust()


_TRUST = """
import sys
from pathlib import Path
from cortex.runtime.access.trust import give_trust
print("x", end="", flush=True)
while True:
    give_trust(Path(sys.argv[1]), by="a test")
"""
