"""What breaches a prohibition, on cases that were labelled before there was a program for it."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.runtime.directives import LaidDown, Material, aliases, breaches, materials_of

CASES = Path(__file__).parents[1] / "fixtures" / "directives" / "breaches.jsonl"
RESULTS = CASES.with_name("breaches_in_results.jsonl")
LEAST = 0.98  # of the labels


def prohibits(*items: str) -> list[LaidDown]:
    return [
        LaidDown(kind="policy", name=each, value="prohibit", scope="user", position=1)
        for each in items
    ]


def found(text: str, kind: str = "text", path: str = "", *items: str) -> list[str]:
    material = Material(kind=kind, text=text, path=path)  # type: ignore[arg-type]
    return [each.sentence for each in breaches(material, prohibits(*(items or ("docker",))))]


def test_the_labels_are_met_both_ways_in_each_kind() -> None:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    wrong, of_kind = list[str](), Counter[tuple[str, bool]]()

    for case in cases:
        of_kind[case["kind"], case["breach"]] += 1
        says = bool(found(case["text"], case["kind"], case.get("path", ""), case["prohibit"]))
        if says != case["breach"]:
            wrong.append(json.dumps(case))

    assert len(cases) >= 200
    assert len(of_kind) == 12
    assert min(of_kind.values()) >= 10
    assert len(wrong) <= (1 - LEAST) * len(cases), "\n".join(wrong)


def test_the_labels_of_results_of_steps_are_met_both_ways() -> None:
    cases = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    breaching = sum(case["breach"] for case in cases)

    wrong = [
        json.dumps(case)
        for case in cases
        if case["breach"]
        != any(
            breaches(material, prohibits(case["prohibit"]))
            for material in materials_of(case["result"])
        )
    ]

    assert len(cases) >= 80
    assert 2 * breaching == len(cases)
    assert len(wrong) <= (1 - LEAST) * len(cases), "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("cat > README <<EOF\ndocker ps\nEOF\nls", False),
        ("cat <<-'end of it'\n\tdocker\n\tend of it", False),
        ("cat <<E\nnothing\nE\ndocker ps", True),
        ("bash <<E\ndocker ps\nE", True),
        ("sudo bash -s <<'E'\ndocker ps\nE", True),
        ("cat <<E | sh\ndocker ps\nE", True),
        ("ssh host <<E\ndocker ps\nE", True),
        ("bash <<< 'docker ps'", True),
        ("cat <<< 'docker ps'", False),
        # Nothing of these is a text, so what follows runs.
        ("echo $((1<<2))\ndocker ps\n2", True),
        ('echo "<<E"\ndocker ps\nE', True),
        ('echo "a <<E\n"\ndocker ps\nE', True),
        ("ls # <<E\ndocker ps\nE", True),
        ("cat <<E\ndocker ps", True),
        ("trap 'docker ps' EXIT", True),
        ("busybox sh -c 'docker ps'", True),
        ("script -qc 'docker ps' /dev/null", True),
        ("unshare --mount docker ps", True),
        ("screen -dm docker ps", True),
        ("pwsh -c 'docker ps'", True),
    ],
)
def test_a_text_that_a_command_is_given_counts_if_a_shell_runs_it(text: str, breach: bool) -> None:
    assert bool(found(text, "command")) == breach


@pytest.mark.parametrize("unseen", ["\x00", "\x1b", "\u115f", "\u2800", "\u3164", "\U000e0064"])
def test_a_name_with_what_nobody_sees_is_the_name(unseen: str) -> None:
    assert found(f"dock{unseen}er", "tool")
    assert found(f"{unseen}docker ps", "command")


@pytest.mark.parametrize("item", ["---", "_", "\u200b"])
def test_what_has_no_letter_is_no_part_of_other_names(item: str) -> None:
    for name in ("_private", "a__b", "server.", "-"):
        assert not found(name, "tool", "", item)
    assert found(item, "tool", "", item)
    assert not found("cat - ; ls -- x", "command", "", item)


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("1. a\n    - b\n      ```sh\n      docker ps\n      ```\n", True),
        ("\t~~~sh\n\tdocker ps\n\t~~~", True),
        ("> ```sh\n> docker ps\n> ```\n", True),
        ("> > ```sh\n> > ls\n> > ```\n> > docker ps", False),
        ("```sh\rdocker ps\r```\r", True),
        ("```{.bash}\ndocker ps\n```", True),
        ("```powershell\ndocker ps\n```", True),
        ("```console\nme@host:~/site$ docker ps\n```", True),
        ("```console\n[root@host site]# docker ps\n```", True),
        ("```console\nPS C:\\site> docker ps\n```", True),
        ("```console\n# docker ps is not allowed\nme@host.org writes: docker\n```", False),
        ("> docker ps\n    docker ps\n", False),
    ],
)
def test_code_counts_in_lists_quotations_and_behind_prompts(text: str, breach: bool) -> None:
    assert bool(found(text)) == breach


@pytest.mark.parametrize(
    "result",
    [
        {"Command": "docker ps"},
        {"filePath": "Dockerfile"},
        {"file-path": "deploy/app.py", "newString": "import docker\n"},
        {"program": "/usr/bin/docker", "args": ["ps"]},
        {"changedFiles": ["Dockerfile"]},
    ],
)
def test_fields_count_however_their_names_are_spelled(result: dict[str, object]) -> None:
    assert any(breaches(material, prohibits("docker")) for material in materials_of(result))


def in_file(path: str, content: str, item: str = "docker") -> bool:
    return bool(found(content, "source", path, item))


def test_files_that_build_and_deploy_count_by_what_they_run() -> None:
    assert in_file("Dockerfile", "FROM python:3.12 AS build\nRUN pip install httpx\n", "httpx")
    assert in_file("api.Dockerfile", "FROM registry.example:5000/postgres:15\n", "postgres")
    assert in_file("Dockerfile", 'CMD ["psql", "-c", "select 1"]\n', "postgres")
    assert in_file("Dockerfile", "RUN ls \\\n && docker ps\n")
    assert not in_file("Dockerfile", "# FROM postgres\nLABEL postgres=no\n", "postgres")
    assert in_file("compose.yaml", "services:\n  db:\n    image: postgres:15\n", "postgres")
    assert not in_file("compose.yaml", "x: {postgres: 1, note: image postgres}\n", "postgres")
    assert in_file("ci.yml", "jobs:\n  a:\n    steps:\n    - uses: docker/login-action@v3\n")
    assert in_file("t.yml", "{{ if x }}\n  - run: docker ps\n{{ end }}\n")  # a template
    assert in_file("rules.mk", "a b: c ; docker ps\n")
    assert not in_file("rules.mk", "DOCKER := docker\n")


@pytest.mark.parametrize("path", ["a.yml", "Makefile", "Dockerfile"])
@given(text=st.text(alphabet='a:-[]{}&*!|>\n\t \\"#RUN', max_size=60))
def test_no_file_that_builds_raises(path: str, text: str) -> None:
    in_file(path, text)


def test_the_sentence_is_quoted_as_it_stands() -> None:
    assert found("cd x\n  sudo docker ps\n", "command") == ["sudo docker ps"]
    assert found("x\n```sh\nls\ndocker ps\n```\n") == ["docker ps"]


def test_a_result_is_looked_through_by_the_names_of_its_fields() -> None:
    result = {
        "summary": "docker is not used",
        "edits": [{"path": "a.py", "content": "import docker\n"}],
        "changed": ["Dockerfile", "b.py"],
        "command": "docker ps",
        "argv": ["docker", "ps"],
        "diff": "+++ b/c.py\n+import docker\n",
    }

    sentences = [
        each.sentence
        for material in materials_of(result)
        for each in breaches(material, prohibits("docker"))
    ]

    assert sentences == ["import docker", "Dockerfile", "docker ps", "docker ps", "import docker"]


def test_no_alias_means_two_things() -> None:
    path = Path(__file__).parents[2] / "runtime" / "directives" / "aliases.json"
    if not path.is_file():
        pytest.skip("the sources are not beside these tests")
    table = json.loads(path.read_text(encoding="utf-8"))

    listed = Counter(name for names in table.values() for name in {*names})

    assert not [name for name, times in listed.items() if times > 1]
    assert set(aliases().values()) <= set(aliases())


@pytest.mark.parametrize("kind", ["tool", "command", "path", "source", "text"])
@given(text=st.text(max_size=60), path=st.sampled_from(["a.py", "a.js", "package.json", "go.mod"]))
def test_no_text_makes_it_fail(kind: str, text: str, path: str) -> None:
    found(f"docker {text}", kind, path)
    found(text, kind, path)


def test_deep_and_long_texts_are_bounded() -> None:
    found("(" * 100_000, "command")
    found("[" * 100_000, "source", "package.json")
    found("(" * 100_000, "source", "a.py")
    found("```\n" * 50_000)
    nested: object = "docker"
    for _ in range(200):
        nested = [nested]
    assert not list(materials_of(nested))


@pytest.mark.parametrize(
    "command",
    [
        "bash -lc 'docker ps'",
        "bash -e -c 'docker ps'",
        "timeout -s KILL 5 docker ps",
        "setsid docker ps",
        "watch -n 2 docker ps",
        "ionice -c 3 docker ps",
        "eval docker ps",
        "eval 'docker ps'",
        "env -S 'docker ps'",
        "coproc docker ps",
        "2>/dev/null docker ps",
        ">log docker ps",
        "docker.exe ps",
        'echo "$(docker ps)"',
        "find . -name x -exec docker ps {} +",
    ],
)
def test_a_command_behind_another_is_found(command: str) -> None:
    assert found(command, "command") == [command]


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 grep docker x",
        "bash -l docker.txt",
        "echo '$(docker ps)'",
        "ls 2>/dev/null docker",
        "find . -name docker",
        "make.exe docker",
    ],
)
def test_what_only_names_it_is_no_command(command: str) -> None:
    assert found(command, "command") == []


@pytest.mark.parametrize(
    ("field", "words", "breach"),
    [
        ("argv", ["docker", "ps"], True),
        ("argv", ["sudo", "docker", "ps"], True),
        ("argv", ["bash", "-c", "cd x; docker ps"], True),
        ("argv", ["pip", "install", "docker"], True),
        ("command", ["env", "A=b c", "docker", "ps"], True),
        ("argv", ["grep", "docker", "x"], False),
        ("argv", ["echo", "x; docker ps"], False),
        ("argv", ["echo", "#", "docker"], False),
        ("command", ["grep", "docker", "x"], False),
        ("commands", ["ls", "docker ps"], True),
        ("argv", ["bash", "-c", "cd x\ndocker ps"], True),
        ("argv", ["git", "commit", "-m", "Subject\n\ndocker is gone"], False),
        ("argv", [], False),
    ],
)
def test_a_list_of_words_is_one_command(field: str, words: list[str], breach: bool) -> None:
    materials = materials_of({field: words})

    assert any(breaches(each, prohibits("docker")) for each in materials) == breach


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\u202e", "\u00ad", "\ufeff", "\u2060"])
def test_characters_that_nobody_sees_make_no_other_name(hidden: str) -> None:
    assert found(f"doc{hidden}ker.run", "tool") == [f"doc{hidden}ker.run"]
    assert found("docker ps", "command", "", f"doc{hidden}ker") == ["docker ps"]


def test_a_command_behind_many_others_is_looked_for_up_to_a_bound() -> None:
    assert found("sudo " * 500 + "docker ps", "command")
    assert not found("sudo " * 5_000 + "docker ps", "command")  # else it costs their square
