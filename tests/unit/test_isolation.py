"""What a program and a process of Cortex's own are given."""

import io
import os
import subprocess
from pathlib import Path

import pytest

from cortex.runtime.isolation import (
    AT_REMOTE,
    TO_SIGN,
    enter_process,
    environment_for,
    given,
    interpreter,
)


def test_a_search_path_keeps_no_folder_that_depends_on_where_one_stands() -> None:
    environment = {"PATH": ":/bin:.:bin:/usr/bin:", "LD_LIBRARY_PATH": "", "HOME": "."}

    found = environment_for(environment=environment)

    assert found == {"PATH": "/bin:/usr/bin", "LD_LIBRARY_PATH": "", "HOME": "."}


def test_a_proxy_is_passed_on_unless_its_address_holds_a_password() -> None:
    open_, closed = "http://proxy:3128", "http://me:pass@proxy:3128"

    found = environment_for(environment={"https_proxy": open_, "HTTP_PROXY": closed})
    named = environment_for(["HTTP_PROXY"], environment={"HTTP_PROXY": closed})

    assert found == {"https_proxy": open_}
    assert named == {"HTTP_PROXY": closed}


def test_what_is_hidden_is_not_given_unless_it_is_named() -> None:
    environment = {"XDG_KEY": "k", "TERM": "dumb"}

    assert environment_for((), ["XDG_KEY"], environment) == {"TERM": "dumb"}
    assert environment_for(["XDG_KEY"], ["XDG_KEY"], environment) == environment


def test_the_agent_of_ssh_is_for_remotes_alone() -> None:
    environment = {"SSH_AUTH_SOCK": "/run/agent", "GNUPGHOME": "/g"}

    assert environment_for(environment=environment) == {}
    assert environment_for(TO_SIGN, environment=environment) == {"GNUPGHOME": "/g"}
    assert environment_for(AT_REMOTE, environment=environment) == environment


def test_an_environment_that_goes_through_a_pipe_comes_out_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {"A_NEW_ONE": "two\nlines", "WITHOUT_A_VALUE": "", "NOT_UTF8": os.fsdecode(b"\xff")}
    for name in names:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CORTEX_DEBUGGABLE", "1")
    pipe = io.BytesIO(given(names) + b"what follows")

    enter_process(pipe)

    assert {name: os.environ.pop(name) for name in names} == names
    assert pipe.read() == b"what follows"


def test_an_interpreter_looks_nowhere_that_the_folder_or_the_environment_says(
    tmp_path: Path,
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('sitecustomize')")
    (tmp_path / "json.py").write_text("print('json')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": "json.py"}

    done = subprocess.run(
        interpreter("-c", "import json, sys; print(json.__file__, *sys.path)"),
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert str(tmp_path) not in done.stdout
    assert done.stdout.count("\n") == 1
