"""From a dotted topic to the one file it stands for."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.knowledge import (
    Ambiguous,
    KnowledgeTooLargeError,
    KnowledgeUnreadableError,
    Resolved,
    Root,
    TopicIndex,
    TopicInvalidError,
    roots_of_home,
)


def write(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(index: TopicIndex, topic: str) -> str:
    resolved = index.resolve(topic)
    assert isinstance(resolved, Resolved), resolved
    return resolved.path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / ".cortex"


@pytest.mark.parametrize("suffix", ["md", "txt", "rst", "json", "yaml", "csv", "log"])
def test_dots_are_folders_and_the_digest_is_of_the_bytes(home: Path, suffix: str) -> None:
    path = write(home / f"knowledge/engineering/testing.{suffix}", "Test first.")

    resolved = TopicIndex(roots_of_home(home)).resolve("engineering.testing")

    assert resolved == Resolved(
        topic="engineering.testing",
        path=str(path),
        root=str(home / "knowledge"),
        scope="home",
        digest=hashlib.sha256(b"Test first.").hexdigest(),
        size_bytes=11,
    )


@pytest.mark.parametrize("page", ["index.md", "README.md", "README.rst"])
def test_a_folder_with_a_page_is_a_topic(home: Path, page: str) -> None:
    path = write(home / "knowledge/engineering" / page)
    write(home / "knowledge/engineering/testing.md")
    index = TopicIndex(roots_of_home(home))

    topics = index.topics()

    assert found(index, "engineering") == str(path)
    assert topics == ("engineering", "engineering.testing")


def test_a_first_part_that_is_a_scope_selects_that_root_and_no_other(home: Path) -> None:
    team = write(home / "knowledge/team/style.md")
    write(home / "knowledge/style.md")
    index = TopicIndex(roots_of_home(home))

    assert found(index, "team.style") == str(team)
    assert index.resolve("org.style") is None


def test_without_a_scope_the_narrowest_root_wins(home: Path, tmp_path: Path) -> None:
    roots = [
        Root(str(tmp_path / "shipped"), "library"),
        *roots_of_home(home),
        Root(str(tmp_path / "checkout"), "project"),
    ]
    index = TopicIndex(roots)
    places = [
        tmp_path / "shipped/style.md",
        *(
            home / "knowledge" / scope / "style.md"
            for scope in ("domain", "org", "team", "personal")
        ),
        home / "knowledge/style.md",
        tmp_path / "checkout/style.md",
    ]

    winners = [found(index, "style") for place in places if write(place)]

    assert winners == [str(place) for place in places]


def test_two_files_that_fit_equally_are_ambiguous_and_both_are_named(home: Path) -> None:
    one = write(home / "knowledge/style.md")
    other = write(home / "knowledge/style.txt")
    page = write(home / "knowledge/style/index.md")

    resolved = TopicIndex(roots_of_home(home)).resolve("style")

    assert resolved == Ambiguous("style", tuple(sorted(map(str, (one, other, page)))))
    assert "style.md and " in str(resolved)


def test_two_roots_of_one_scope_are_equally_near(tmp_path: Path) -> None:
    write(tmp_path / "a/style.md")
    write(tmp_path / "b/style.md")
    roots = [Root(str(tmp_path / name), "project") for name in ("a", "b")]

    assert isinstance(TopicIndex(roots).resolve("style"), Ambiguous)


def test_a_root_given_twice_is_not_ambiguous(tmp_path: Path) -> None:
    path = write(tmp_path / "style.md")

    index = TopicIndex([Root(str(tmp_path), "project")] * 2)

    assert found(index, "style") == str(path)


def test_topics_lists_exactly_what_resolves(home: Path, tmp_path: Path) -> None:
    for name in ("style.md", "team/rules.md", "a/b/c.txt", "a/index.md", "not a topic.md", "x.bin"):
        write(home / "knowledge" / name)
    write(tmp_path / "shipped/engineering/testing.md")
    index = TopicIndex([*roots_of_home(home), Root(str(tmp_path / "shipped"), "library")])

    topics = index.topics()

    assert topics == ("a", "a.b.c", "engineering.testing", "style", "team.rules")
    assert all(index.resolve(topic) for topic in topics)


@pytest.mark.parametrize(
    "topic", ["", ".", "..", "a..b", "../etc/passwd", "a/b", "a.../b", "/etc", "a\\b", "a b", "a\0"]
)
def test_what_is_not_names_joined_by_dots_is_no_topic(home: Path, topic: str) -> None:
    with pytest.raises(TopicInvalidError, match="is not a topic"):
        TopicIndex(roots_of_home(home)).resolve(topic)


@settings(max_examples=200, deadline=None)
@given(topic=st.text(st.sampled_from("a.b/\\~-_ \0"), max_size=12) | st.text(max_size=12))
def test_no_topic_reaches_outside_its_roots(
    topic: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = tmp_path_factory.getbasetemp()
    inside = base / "inside"
    for name in ("a.md", "b.md", "inside/a.md", "inside/a/b.md"):
        if not (base / name).exists():
            write(base / name)
    index = TopicIndex([Root(str(inside), "project")])

    try:
        resolved = index.resolve(topic)
    except TopicInvalidError:
        return

    if isinstance(resolved, Resolved):
        assert Path(resolved.path).resolve().is_relative_to(inside.resolve())


def test_links_that_leave_the_root_are_not_followed_and_others_are(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path / "secret.md")
    write(tmp_path / "outside/page.md")
    real = write(root / "real.md")
    (root / "leaves.md").symlink_to(tmp_path / "secret.md")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "stays.md").symlink_to(real)
    (root / "loop").symlink_to(root)
    index = TopicIndex([Root(str(root), "project")])

    assert index.resolve("leaves") is None
    assert index.resolve("folder.page") is None
    assert found(index, "stays") == str(root / "stays.md")
    assert "leaves" not in index.topics()


def test_a_link_to_nothing_is_no_topic(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")

    assert TopicIndex([Root(str(tmp_path), "project")]).resolve("gone") is None


def test_a_link_to_itself_hides_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path / "page.md")
    (tmp_path / "round.md").symlink_to(tmp_path / "round.md")
    index = TopicIndex([Root(str(tmp_path), "library")])

    assert index.resolve("round") is None
    assert found(index, "page") == str(path)
    assert index.topics() == ("page",)


def test_a_file_over_the_bound_is_refused_with_its_size(tmp_path: Path) -> None:
    write(tmp_path / "big.md", "x" * 101)
    index = TopicIndex([Root(str(tmp_path), "project")], largest_bytes=100)

    with pytest.raises(
        KnowledgeTooLargeError, match="has 101 bytes, a knowledge file may have 100"
    ):
        index.resolve("big")


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("naïve".encode(), "naïve", "utf-8"),
        ("naïve".encode("utf-8-sig"), "naïve", "utf-8-sig"),
        ("naïve".encode("utf-16"), "naïve", "utf-16"),
        ("naïve".encode("latin-1"), "naïve", "cp1252"),
        (b"a\x81b", "a\ufffdb", "cp1252"),
    ],
)
def test_text_is_read_whatever_its_encoding(
    tmp_path: Path, data: bytes, text: str, encoding: str
) -> None:
    (tmp_path / "page.md").write_bytes(data)
    index = TopicIndex([Root(str(tmp_path), "project")])
    resolved = index.resolve("page")
    assert isinstance(resolved, Resolved)

    document = index.read(resolved)

    assert (document.text, document.encoding) == (text, encoding)
    assert document.digest == resolved.digest == hashlib.sha256(data).hexdigest()


def test_a_binary_file_is_no_knowledge(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_bytes(b"PK\x03\x04\0\0")
    index = TopicIndex([Root(str(tmp_path), "project")])
    resolved = index.resolve("page")
    assert isinstance(resolved, Resolved)

    with pytest.raises(KnowledgeUnreadableError, match="not a text file"):
        index.read(resolved)


def test_a_file_that_vanished_is_said_to_be_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path / "page.md")
    index = TopicIndex([Root(str(tmp_path), "project")])
    resolved = index.resolve("page")
    assert isinstance(resolved, Resolved)
    path.unlink()

    with pytest.raises(KnowledgeUnreadableError, match="No such file"):
        index.read(resolved)
    assert index.resolve("page") is None


def test_what_changes_is_seen_at_once_even_when_it_was_cached(tmp_path: Path) -> None:
    path = write(tmp_path / "page.md", "one")
    long_ago = 1_000_000_000
    os.utime(path, (long_ago, long_ago))
    os.utime(tmp_path, (long_ago, long_ago))
    index = TopicIndex([Root(str(tmp_path), "project")])
    before = index.resolve("page")

    write(path, "two")
    write(tmp_path / "new.md")
    after = index.resolve("page")

    assert isinstance(before, Resolved)
    assert isinstance(after, Resolved)
    assert before.digest != after.digest
    assert index.topics() == ("project.new", "project.page")


def test_a_cached_lookup_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "page.md", "one")
    for old in (path, tmp_path):
        os.utime(old, (1_000_000_000, 1_000_000_000))
    index = TopicIndex([Root(str(tmp_path), "project")])
    first = index.resolve("page")

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(os, "scandir", refuse)

    assert index.resolve("page") == first


def test_roots_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    index = TopicIndex(roots_of_home(tmp_path / "nowhere"))

    assert index.resolve("engineering.testing") is None
    assert index.topics() == ()
