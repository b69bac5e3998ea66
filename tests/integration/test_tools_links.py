"""Links: what they lead to is treated as what it is, and no patch makes, moves or follows one."""

import re
from pathlib import Path

import pytest

from cortex.bus.events import ToolDenied

from .repair_world import git, repository
from .tools_world import Toolbox


@pytest.fixture
def linked(tmp_path: Path) -> Toolbox:
    """A checkout with links that lead into git's folder, into the home, and to a file."""
    folder = repository(tmp_path / "work", {"a.txt": "hello\n", "sub/b.txt": "b\n"})
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    git(folder, "add", *LINKS)
    git(folder, "commit", "--quiet", "--message=links")
    git(folder, "config", "remote.origin.url", "https://ada:TOKEN@example.org/x.git")
    (tmp_path / "secret.txt").write_text("SECRET\n")
    box = Toolbox(folder, folder / ".cortex")
    (folder / ".cortex" / "kept").write_text("url = TOKEN\n")
    return box


LINKS = {
    "gitlink": ".git",
    "conf": ".git/config",
    "kept": ".cortex/kept",
    "la": "a.txt",
    "out": "..",
    "folder": "sub",
}


@pytest.mark.parametrize("patched", [False, True], ids=["in the workspace", "in the worktree"])
@pytest.mark.parametrize("path", ["gitlink", "gitlink/config", "gitlink/hooks", "conf", "kept"])
def test_a_link_into_gits_or_our_own_folder_is_refused_as_that_is(
    linked: Toolbox, path: str, *, patched: bool
) -> None:
    if patched:
        linked.text("apply_patch", patch=MADE)

    said = [
        linked.error("read_file", path=path),
        linked.error("search_code", pattern=".", path=path),
        linked.error("run_command", argv=["ls"], folder=path),
    ]

    assert all(re.search("git's own folder|its own files|no such file", line) for line in said)


def test_a_search_does_not_follow_links_into_gits_or_our_own_folder(linked: Toolbox) -> None:
    assert "TOKEN" in (linked.workspace / ".git" / "config").read_text()

    found = linked.text("search_code", pattern="url|hello|TOKEN")

    assert re.findall(r"^[\w.]+:", found, re.MULTILINE) == ["a.txt:", "la:"]


def test_a_git_folder_that_stands_elsewhere_is_gits_own_as_well(linked: Toolbox) -> None:
    (linked.workspace / ".git").rename(linked.workspace / "kept-apart")
    (linked.workspace / ".git").symlink_to("kept-apart")

    assert "git's own folder" in linked.error("read_file", path="kept-apart/config")
    assert "TOKEN" not in linked.text("search_code", pattern="TOKEN")


def test_a_search_beside_the_folder_that_names_start_from_is_refused(tmp_path: Path) -> None:
    folder = repository(tmp_path / "work", {"sub/a.txt": "a\n", "other/b.txt": "b\n"})
    (folder / "sub" / "up").symlink_to("../other")
    git(folder, "add", "sub/up")
    git(folder, "commit", "--quiet", "--message=link")
    box = Toolbox(folder / "sub", tmp_path / ".cortex")
    box.text("apply_patch", patch=MADE)

    assert "it is a link that leads out" in box.error("search_code", pattern="b", path="up")


def git_patch(head: str, body: str = "", name: str = "s.txt") -> str:
    return f"diff --git a/a.txt b/{name}\n{head}\n{body}{MADE}"


MADE = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
TO_PASSWD = """\
--- a/la
+++ b/la
@@ -1 +1 @@
-a.txt
\\ No newline at end of file
+/etc/passwd
\\ No newline at end of file
"""
MAKES_LINK = "--- /dev/null\n+++ b/ln\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
ALIKE = "similarity index 100%"


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        *(
            (git_patch(f"{ALIKE}\ncopy from {source}\ncopy to s.txt"), "copies no files")
            for source in ("/etc/passwd", "../../../../secret.txt", ".git", "la", "a.txt", '"a"')
        ),
        *(
            (git_patch(f"{ALIKE}\nrename {words[0]} {source}\nrename {words[1]} s.txt"), said)
            for words in (("from", "to"), ("old", "new"))
            for source, said in [
                ("/etc/passwd", "the path is absolute"),
                ("../../../../secret.txt", "leads out"),
                ('"../../../../secret.txt"', "leads out"),
                ('"\\056git"', "git's own folder"),
                ("gitlink/config", "beyond a symbolic link"),
                ("folder/b.txt", "beyond a symbolic link"),
                ("la", "plain files only"),
            ]
        ),
        (TO_PASSWD, "plain files only"),
        (f"diff --git a/la b/la\n{TO_PASSWD}", "plain files only"),
        (f"diff --git a/la b/la\nindex 000..111 120000\n{TO_PASSWD}", "plain files only"),
        ("--- a/la\n+++ /dev/null\n@@ -1 +0,0 @@\n-a.txt\n", "plain files only"),
        *(
            (f"diff --git a/ln b/ln\n{mode}\n{MAKES_LINK}", "plain files only")
            for mode in (
                "new file mode +120000",
                "new file mode  120000",
                "new file mode 0120000",
                "new file mode 100644\nindex 000..111 120000",
                "new file mode 100644\nindex 0 0..111 120000",
                "new file mode 100644\nnew mode \t120000",
            )
        ),
    ],
)
def test_a_patch_neither_copies_files_nor_touches_links(
    linked: Toolbox, patch: str, said: str
) -> None:
    linked.text("run_command", argv=["true"])
    tree = linked.workspace / ".cortex" / "worktrees" / "e1"

    answer = linked.call("apply_patch", patch=patch)

    assert isinstance(answer, ToolDenied), answer
    assert said in answer.reason
    assert git(tree, "status", "--porcelain") == ""
    assert {name: str((tree / name).readlink()) for name in LINKS} == LINKS


def test_a_file_with_letters_of_any_language_is_renamed(linked: Toolbox) -> None:
    for old, new in [("a.txt", "größe.txt"), ('"gr\\303\\266\\303\\237e.txt"', "b.txt")]:
        head = f"diff --git x y\n{ALIKE}\nrename from {old}\nrename to {new}\n"
        linked.text("apply_patch", patch=head)

    assert linked.text("read_file", path="b.txt") == "1\thello\n"
