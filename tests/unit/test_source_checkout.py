"""Finding the file of a checkout that a logged path means."""

import subprocess
from pathlib import Path

import pytest

from cortex.runtime.code.source import (
    Checkout,
    CheckoutUnreadableError,
    GitMissingError,
    NotAFolderError,
    find_relevant_code,
)


def _make(root: Path, *paths: str) -> Checkout:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("one\ntwo\nthree\n")
    return Checkout(root)


def _found(checkout: Checkout, logged: str, package: str = "") -> list[str]:
    return [match.path for match in checkout.find(logged, package)]


def test_the_longest_common_ending_wins(tmp_path: Path) -> None:
    checkout = _make(tmp_path, "a/cart/utils.py", "b/cart/utils.py", "utils.py")

    assert _found(checkout, "/home/runner/work/x/x/b/cart/utils.py") == ["b/cart/utils.py"]


@pytest.mark.parametrize(
    "logged",
    [
        "/builds/acme/shop/src/cart.py",
        "C:\\agent\\_work\\1\\s\\src\\cart.py",
        "file:///srv/src/cart.py",
        "webpack://shop/./src/cart.py?a1b2",
        "./src/cart.py",
        "x/../src/cart.py",
    ],
)
def test_a_path_of_another_machine_is_recognised(tmp_path: Path, logged: str) -> None:
    checkout = _make(tmp_path, "src/cart.py", "old/cart.py")

    assert _found(checkout, logged) == ["src/cart.py"]


def test_a_file_of_a_dependency_is_not_ours(tmp_path: Path) -> None:
    checkout = _make(tmp_path, "src/shop/utils.py", "utils.py")

    assert _found(checkout, "/venv/lib/python3.11/site-packages/requests/utils.py") == []
    assert _found(checkout, "/app/node_modules/left-pad/utils.py") == []


def test_our_own_installed_file_is_ours(tmp_path: Path) -> None:
    checkout = _make(tmp_path, "src/shop/utils.py", "src/other/utils.py")

    found = _found(checkout, "/x/.tox/py311/lib/python3.11/site-packages/shop/utils.py")

    assert found == ["src/shop/utils.py"]


def test_a_java_package_names_the_folder(tmp_path: Path) -> None:
    checkout = _make(tmp_path, "src/com/acme/a/Utils.java", "src/com/acme/b/Utils.java")

    assert _found(checkout, "Utils.java", "com.acme.b") == ["src/com/acme/b/Utils.java"]
    assert _found(checkout, "Utils.java", "org.other") == []


def test_kotlin_may_leave_out_the_shared_folders(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "Page.kt").write_text("package com.acme.web\n\nfun page() = 1\n")
    checkout = Checkout(tmp_path)

    assert _found(checkout, "Page.kt", "com.acme.web") == ["web/Page.kt"]


def test_a_link_into_the_own_folder_of_git_is_not_read(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "conf").symlink_to(tmp_path / ".git" / "config")
    (tmp_path / "folder").symlink_to(tmp_path / ".git")
    checkout = Checkout(tmp_path)

    assert checkout.read_bytes("conf") == b""
    assert checkout.read_bytes("folder/config") == b""


def test_a_link_that_leads_outside_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def secret(): pass\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "leak.py").symlink_to(tmp_path / "secret.py")
    (inside / "folder").symlink_to(tmp_path)
    checkout = Checkout(inside)

    assert checkout.read_bytes("leak.py") == b""
    assert checkout.read_bytes("folder/secret.py") == b""
    assert checkout.read_bytes("../secret.py") == b""
    assert find_relevant_code("leak.py:1: error: oh no", checkout) == []


def test_git_lists_what_it_tracks_and_what_it_does_not_ignore(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("out/\n")

    checkout = _make(tmp_path, "src/cart.py", "out/cart.py")

    assert checkout.files == (".gitignore", "src/cart.py")


def test_a_program_named_in_the_checkout_is_not_run(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    hook = tmp_path / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    subprocess.run(["git", "-C", str(tmp_path), "config", "core.fsmonitor", str(hook)], check=True)

    Checkout(tmp_path)

    assert not (tmp_path / "ran").exists()


def test_git_is_asked_about_the_folder_whatever_it_was_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("asked", "other"):
        (tmp_path / name).mkdir()
        subprocess.run(["git", "init", "-q", str(tmp_path / name)], check=True)
        (tmp_path / name / f"{name}.py").touch()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))

    assert Checkout(tmp_path / "asked").files == ("asked.py",)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAFolderError, match="is not a folder: give the folder"):
        Checkout(tmp_path / "missing")


def test_a_git_checkout_needs_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(GitMissingError, match="no git command: install git"):
        Checkout(tmp_path)


def test_a_broken_repository_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")

    with pytest.raises(CheckoutUnreadableError, match="cannot be listed") as caught:
        Checkout(tmp_path)

    assert "\n" not in str(caught.value)
