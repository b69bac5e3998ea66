"""Nothing that a checkout's git configuration names is started, by any operation that asks git.

The keys are those of git-config(1) and the pages it leads to (git 2.39 to 2.52) that name a
program, a folder of programs, or make git look for one. All of them are planted at once, in each
place that git reads; each operation has to succeed, so that none of them hides what comes after it.
"""

import ast
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

import pytest

from cortex.actors.gates import BranchClean
from cortex.bus.events import GateEvaluate, GateEvaluated, ToolReturned
from cortex.runtime.code.programs import (
    GitConfigurationError,
    GitGrant,
    Setting,
    overridden,
    run_git,
)
from cortex.runtime.code.repair import Git, GitFailedError
from cortex.runtime.code.source import Checkout

from ..integration.repair_world import CART, CART_TEST, FIX, Bench, done, git, repository
from ..integration.tools_world import Toolbox

# By key: what makes of a program's path the value that names it.
NAMING: dict[str, str] = {
    "alias.status": "!{}",
    "browser.marker.cmd": "{}",
    "browser.marker.path": "{}",
    "core.alternateRefsCommand": "{}",
    "core.askPass": "{}",
    "core.editor": "{}",
    "core.fsmonitor": "{}",
    "core.gitProxy": "{}",
    "core.hooksPath": "{}.hooks",
    "core.pager": "{}",
    "core.sshCommand": "{}",
    "credential.helper": "!{}",
    "credential.https://127.0.0.1.helper": "!{}",
    "diff.external": "{}",
    "diff.m.command": "{}",
    "diff.m.textconv": "{}",
    "difftool.marker.cmd": "{}",
    "difftool.marker.path": "{}",
    "filter.m.clean": "{}",
    "filter.m.smudge": "{}",
    "filter.m.process": "{}",
    "filter.m.required": "true",
    "filter.a=b.smudge": "{}",
    "gc.recentObjectsHook": "{}",
    "gpg.program": "{}",
    "gpg.openpgp.program": "{}",
    "gpg.ssh.defaultKeyCommand": "{}",
    "gpg.ssh.program": "{}",
    "gpg.x509.program": "{}",
    "guitool.marker.cmd": "{}",
    "help.browser": "{}",
    "hook.marker.command": "{}",
    "hook.marker.event": "pre-commit",
    "imap.tunnel": "{}",
    "init.templateDir": "{}.hooks",
    "instaweb.browser": "{}",
    "instaweb.httpd": "{}",
    "instaweb.modulePath": "{}",
    "interactive.diffFilter": "{}",
    "lfs.customtransfer.marker.path": "{}",
    "lfs.standalonetransferagent": "marker",
    "log.showSignature": "true",
    "man.marker.cmd": "{}",
    "man.marker.path": "{}",
    "man.viewer": "marker",
    "merge.m.driver": "{}",
    "merge.tool": "marker",
    "mergetool.marker.cmd": "{}",
    "mergetool.marker.path": "{}",
    "pager.diff": "{}",
    "pager.log": "{}",
    "pager.status": "{}",
    "remote.marker.receivepack": "{}",
    "remote.marker.uploadpack": "{}",
    "remote.marker.vcs": "marker",
    "remote.marker.promisor": "true",
    "sendemail.ccCmd": "{}",
    "sendemail.headerCmd": "{}",
    "sendemail.smtpServer": "{}",
    "sendemail.toCmd": "{}",
    "sendemail.sendmailCmd": "{}",
    "sequence.editor": "{}",
    "submodule.marker.update": "!{}",
    "tar.tar.gz.command": "{}",
    "tar.tgz.command": "{}",
    "trailer.marker.cmd": "{}",
    "trailer.marker.command": "{}",
    "uploadpack.packObjectsHook": "{}",
    "web.browser": "marker",
    "next.gitVersion.newProgram": "{}",  # none that this git or this list knows
}
DOES_NOT_NAME = {"filter.m.required", "log.showSignature", "remote.marker.promisor"}
ATTRIBUTES = "* diff=m merge=m\ntest_cart.py filter=m\nother.txt filter=a=b\n"
PATCH = """\
--- a/cart.py
+++ b/cart.py
@@ -2,4 +2,4 @@
     result = 0
     for price in prices:
-        result -= price
+        result += price
     return result
"""
CONDITIONS = [
    "onbranch:**",
    "onbranch:cortex/**",
    "gitdir:**",
    "gitdir/i:**/WORKTREES/**",
    "hasconfig:remote.*.url:**",
]


class Planted:
    """A checkout whose configuration names a program under every key there is."""

    def __init__(self, folder: Path) -> None:
        self.ran = folder / "ran"
        self.program = folder / "evil"
        _script(self.program, f'echo "$0 $*" >> "{self.ran}"; cat; exit 1')
        hooks = folder / "evil.hooks"
        hooks.mkdir()
        for name in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction"):
            _script(hooks / name, f'echo "$0 $*" >> "{self.ran}"')
        names = {"cart.py": CART, "test_cart.py": CART_TEST, "other.txt": "other\n"}
        self.checkout = repository(folder / "project", names)
        git(self.checkout, "remote", "add", "origin", str(folder / "remote.git"))
        (self.checkout / ".git/info").mkdir(exist_ok=True)
        (self.checkout / ".git/info/attributes").write_text(ATTRIBUTES)

    def write(self, file: Path) -> None:
        """Write all keys into a file of configuration."""
        for key, value in NAMING.items():
            command = ["git", "config", "--file", str(file), key, value.format(self.program)]
            subprocess.run(command, check=True)

    def all_said(self) -> str:
        """What was started."""
        return self.ran.read_text() if self.ran.exists() else ""


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def plant_local(planted: Planted) -> None:
    planted.write(planted.checkout / ".git/config")


def plant_worktree(planted: Planted) -> None:
    git(planted.checkout, "config", "extensions.worktreeConfig", "true")
    planted.write(planted.checkout / ".git/config.worktree")


def plant_included(planted: Planted) -> None:
    (planted.checkout / ".hidden").write_text("[include]\npath = .second\n")
    planted.write(planted.checkout / ".second")
    git(planted.checkout, "config", "include.path", "../.hidden")


def under(condition: str) -> Callable[[Planted], None]:
    def plant(planted: Planted) -> None:
        planted.write(planted.checkout / ".git/named")
        git(planted.checkout, "config", f"includeIf.{condition}.path", "named")

    return plant


def plant_elsewhere(planted: Planted) -> None:
    """Make `.git` a file that leads to a folder elsewhere, as a submodule's is."""
    away = planted.checkout.with_name("away")
    (planted.checkout / ".git").rename(away)
    (planted.checkout / ".git").write_text(f"gitdir: {away}\n")
    planted.write(away / "config")


PLACES: dict[str, Callable[[Planted], None]] = {
    "local": plant_local,
    "worktree": plant_worktree,
    "included": plant_included,
    "elsewhere": plant_elsewhere,
    **{condition: under(condition) for condition in CONDITIONS},
}


@pytest.mark.parametrize("place", PLACES)
def test_no_operation_starts_what_the_checkout_names(place: str, tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    PLACES[place](planted)
    checkout = planted.checkout
    bench = Bench(tmp_path / "home", checkout)

    gate = GateEvaluate(
        execution_id="e1", gate="branch_clean", step_id="s", workspace=str(checkout)
    )
    asked = list(BranchClean(bench.home).evaluate(gate, bench.delivery(1)))
    listed = Checkout(checkout).files
    written = done(bench.write(FIX))
    tested = done(bench.test(command=["true"]))
    committed = done(bench.commit(push=True, branch="repair"))
    again = done(bench.test(command=["true"], position=12))
    box = Toolbox(checkout, tmp_path / "tools")
    patched = box.call("apply_patch", patch=PATCH)
    found = box.text("search_code", pattern="result")

    assert planted.all_said() == ""
    assert isinstance(asked[0], GateEvaluated)
    assert set(listed) >= {"cart.py", "test_cart.py"}
    assert written.result["paths"] == ["cart.py"]
    assert tested.result["exit_code"] == again.result["exit_code"] == 0
    assert committed.result["pushed"] is True
    assert isinstance(patched, ToolReturned), patched
    assert "cart.py" in found


@pytest.mark.parametrize("key", sorted(NAMING.keys() - DOES_NOT_NAME))
def test_each_key_is_overridden_whatever_it_says(key: str) -> None:
    section, _, rest = key.partition(".")
    name = rest.rpartition(".")
    key = ".".join(part for part in (section.lower(), name[0], name[2].lower()) if part)

    against = dict(overridden([Setting("local", key, "/tmp/evil")]))

    assert against.keys() == {"credential.helper" if key.startswith("credential.") else key}
    assert "evil" not in str(against.values())


def test_a_key_that_is_known_to_be_data_stands() -> None:
    kept = [
        Setting("local", "core.autocrlf", "input"),
        Setting("local", "remote.origin.url", "git@example.org:a/b.git"),
        Setting("local", "user.name", "Ada"),
        Setting("local", "some.newer.number", "512m"),
        Setting("local", "branch.main.merge", "refs/heads/main"),
    ]

    assert list(overridden(kept)) == []


def test_every_key_that_this_git_documents_is_data_or_overridden() -> None:
    """What stands although it has a text is read here by a person: none of it is started."""
    said = subprocess.run(
        ["git", "help", "--config"], check=True, capture_output=True, text=True
    ).stdout
    keys = [line.strip() for line in said.splitlines() if line.strip() and " " not in line]

    standing = {
        key for key in keys if not list(overridden([Setting("local", _spelled(key), "/tmp/evil")]))
    }

    words = ("command", "cmd", "program", "hook", "helper", "editor", "pager", "driver", "tool")
    assert len(keys) > 500
    assert {
        key for key in standing if any(word in key.rpartition(".")[2].lower() for word in words)
    } == {
        "advice.ignoredHook",
        "advice.waitingForEditor",
        "notes.rewrite.<command>",
        "rebase.abbreviateCommands",
    }
    assert {key for key in standing if key.startswith(("include", "includeIf"))} == {
        "include.path",  # followed instead
        "includeIf.<condition>.path",
    }


def _spelled(key: str) -> str:
    head, dot, name = key.rpartition(".")
    section, dot_, middle = head.partition(".")
    return f"{section.lower()}{dot_}{middle}{dot}{name.lower()}"


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("there", ["beside it", "around it"])
def test_git_works_on_the_files_of_the_checkout_and_no_other(
    there: str, within: bool, tmp_path: Path
) -> None:
    """Else it would commit what is in ~/.ssh, and write over what is there."""
    (tmp_path / "beside").mkdir()
    private = tmp_path / "beside" / "id_rsa"
    private.write_text("private\n")
    checkout = repository(tmp_path / "project", {"id_rsa": "theirs\n", "sub/a": "a\n"})
    config = checkout / ".git/config"
    if within:
        (checkout / ".git/more").write_text("")
        git(checkout, "config", "include.path", "more")
        config = checkout / ".git/more"
    tree = tmp_path / "beside" if there == "beside it" else tmp_path
    git(checkout, "config", "--file", str(config), "core.worktree", str(tree))

    for words in (("add", "-A"), ("checkout", "-f", "HEAD", "--", ":/"), ("status",)):
        for folder in (checkout, checkout / "sub"):
            if within:  # git itself does not take it from there; whether it does is not our guess
                run_git(str(folder), *words, timeout_s=10.0)
                continue
            with pytest.raises(GitConfigurationError, match="another folder"):
                run_git(str(folder), *words, timeout_s=10.0, grant=GitGrant())

    assert private.read_text() == "private\n"


def test_a_submodule_is_a_checkout_as_any_other(tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", {"a": "a\n"})
    outer = repository(tmp_path / "outer", {"b": "b\n"})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "in")
    assert "worktree" in (outer / ".git/modules/in/config").read_text()

    listed = run_git(str(outer / "in"), "ls-files", timeout_s=10.0)

    assert listed.stdout == b"a\n"


def test_a_folder_that_looks_like_a_repository_is_none(tmp_path: Path) -> None:
    """A clone brings it with its configuration, which `.git` never is."""
    checkout = repository(tmp_path / "project", {"a": "a\n"})
    git(tmp_path, "init", "--quiet", "--bare", str(checkout / "docs"))
    git(checkout, "config", "--file", "docs/config", "core.bare", "false")
    git(checkout, "config", "--file", "docs/config", "core.worktree", str(checkout))

    said = run_git(str(checkout / "docs"), "status", timeout_s=10.0)

    assert b"bareRepository" in said.stderr


# what was granted


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own configuration."""
    path = tmp_path / "own.gitconfig"
    path.write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    return path


def names(file: Path, key: str, value: str) -> None:
    subprocess.run(["git", "config", "--file", str(file), "--add", key, value], check=True)


def test_a_granted_commit_is_signed_by_the_users_program_and_no_other(
    own: Path, tmp_path: Path
) -> None:
    planted = Planted(tmp_path)
    plant_local(planted)
    git(planted.checkout, "config", "--unset", "core.hooksPath")
    signer = tmp_path / "signer"
    sign = f'echo signed >> "{tmp_path}/signed"; cat >/dev/null; echo "[GNUPG:] SIG_CREATED " >&2'
    _script(signer, f"{sign}; echo -----BEGIN PGP SIGNATURE-----")
    names(own, "commit.gpgSign", "true")
    names(own, "gpg.program", str(signer))
    names(own, "gpg.openpgp.program", str(signer))
    bench = Bench(tmp_path / "home", planted.checkout)
    done(bench.write(FIX))

    done(bench.commit(hooks=True))

    assert (tmp_path / "signed").read_text() == "signed\n"
    assert planted.all_said() == ""


def test_without_a_grant_the_users_own_programs_do_not_run_either(
    own: Path, tmp_path: Path
) -> None:
    planted = Planted(tmp_path)
    planted.write(own)
    bench = Bench(tmp_path / "home", planted.checkout)

    done(bench.write(FIX))
    done(bench.commit())

    assert planted.all_said() == ""


def test_a_push_uses_the_users_ways_to_a_remote_and_no_other(own: Path, tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    plant_local(planted)
    git(planted.checkout, "config", "remote.origin.url", "ssh://example.invalid/a.git")
    _script(tmp_path / "ssh", f'echo "ssh $*" >> "{tmp_path}/used"; exit 1')
    names(own, "core.sshCommand", str(tmp_path / "ssh"))
    bench = Bench(tmp_path / "home", planted.checkout)
    done(bench.write(FIX))

    bench.commit(push=True)

    assert "example.invalid" in (tmp_path / "used").read_text()
    assert planted.all_said() == ""


def test_a_password_is_asked_of_the_users_helper_and_no_other(own: Path, tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    plant_local(planted)
    names(own, "credential.helper", str(tmp_path / "own-helper"))
    found = run_git(
        str(planted.checkout),
        *("config", "--get-all", "credential.helper"),
        timeout_s=10.0,
        grant=GitGrant(),
    )

    # An empty one takes back what was named before; the user's own stands behind it.
    *_, empty, helper = found.stdout.decode().splitlines()
    assert (empty, helper) == ("", str(tmp_path / "own-helper"))


GUARDS = {
    "http.sslVerify": "false",
    "http.https://127.0.0.1.sslVerify": "0",
    "http.sslCAInfo": "{}",
    "http.https://127.0.0.1.sslCAInfo": "{}",
    "http.sslCAPath": "{}",
    "http.proxySSLCAInfo": "{}",
    "http.sslVersion": "tlsv1.0",
    "http.sslCipherList": "NULL",
    "http.delegation": "always",
    "http.emptyAuth": "true",
    "credential.protectProtocol": "false",
    "credential.sanitizePrompt": "off",
    "core.protectHFS": "false",
    "core.protectNTFS": "no",
}


@pytest.mark.parametrize("key", GUARDS)
def test_a_checkout_takes_no_guard_away(key: str) -> None:
    section, _, rest = key.partition(".")
    head, dot, name = rest.rpartition(".")
    setting = Setting("local", f"{section}.{head}{dot}{name.lower()}", GUARDS[key])

    ((_, instead),) = overridden([setting])

    assert instead in ("", "true", "none", "auto")
    own = Setting("global", setting.key, GUARDS[key])
    assert list(overridden([setting, own], [own]))[-1] == (own.key, own.value)


@pytest.mark.parametrize("how", ["unverified", "their own authority"])
def test_a_password_goes_to_no_server_that_only_the_checkout_believes(
    how: str, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names a proxy, or an address that leads to one, and says that nobody need be asked."""
    for name in ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    certificate = _certificate(tmp_path)
    heard: list[str] = []
    with _listening(certificate, heard) as port:
        checkout = repository(tmp_path / "project", {"a": "a\n"})
        url = f"https://127.0.0.1:{port}/a.git"
        git(checkout, "config", "remote.origin.url", url)
        if how == "unverified":
            git(checkout, "config", "http.sslVerify", "false")
        else:
            git(checkout, "config", f"http.{url}.sslCAInfo", str(tmp_path / "crt.pem"))
        names(own, "credential.helper", "!echo username=ada; echo password=hunter2; true")

        words = ("push", "--quiet", "origin", "HEAD:refs/heads/x")
        run_git(str(checkout), *words, timeout_s=20.0, grant=GitGrant(remote=True))

    assert [line for line in heard if line.startswith("Authorization")] == []


def _certificate(folder: Path) -> Path:
    path = folder / "server.pem"
    words = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", *words,
         "-keyout", str(path), "-out", str(folder / "crt.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + (folder / "crt.pem").read_text())
    return path


@contextmanager
def _listening(certificate: Path, heard: list[str]) -> Iterator[int]:
    """A server that asks for a password, and notes what it is sent."""

    class Asking(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server's
            heard.extend(f"{name}: {value}" for name, value in self.headers.items())
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ThreadingHTTPServer(("127.0.0.1", 0), Asking) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a handshake that is broken off
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("url", ["ext::{} %S", "marker::x", "fd::3"])
def test_an_address_that_is_a_program_is_not_pushed_to(url: str, own: Path, tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    git(planted.checkout, "config", "remote.origin.url", url.format(planted.program))
    git(planted.checkout, "config", "protocol.allow", "always")
    git(planted.checkout, "config", "protocol.ext.allow", "always")
    bench = Bench(tmp_path / "home", planted.checkout)
    done(bench.write(FIX))

    failed = bench.commit(push=True)

    assert "not allowed" in getattr(failed, "error", "")
    assert planted.all_said() == ""


def test_a_remote_in_the_checkout_runs_none_of_its_hooks(own: Path, tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    remote = planted.checkout / "inner.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        _script(remote / "hooks" / name, f'echo "$0" >> "{planted.ran}"')
    planted.write(remote / "config")
    git(planted.checkout, "config", "remote.origin.url", "./inner.git")
    bench = Bench(tmp_path / "home", planted.checkout)
    done(bench.write(FIX))

    pushed = done(bench.commit(push=True))

    assert pushed.result["pushed"] is True
    assert planted.all_said() == ""


def test_hooks_that_the_checkout_names_are_refused_where_hooks_are_granted(tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    plant_local(planted)

    with pytest.raises(GitConfigurationError, match="names its hooks"):
        run_git(str(planted.checkout), "commit", timeout_s=10.0, grant=GitGrant(hooks=True))


@pytest.mark.parametrize("value", ["%(prefix)/x", "~nobody-of-that-name/x"])
def test_a_file_that_cannot_be_followed_is_refused(value: str, tmp_path: Path) -> None:
    planted = Planted(tmp_path)
    git(planted.checkout, "config", "include.path", value)

    with pytest.raises(GitFailedError, match=r"write its path|could not expand include path"):
        Git(planted.checkout, 10.0).run("status")


@pytest.mark.parametrize(
    "name",
    ["GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND"],
)
def test_a_variable_that_names_a_program_does_not_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = Planted(tmp_path)
    monkeypatch.setenv(name, str(planted.program))
    (planted.checkout / "cart.py").write_text("changed\n")

    run_git(str(planted.checkout), "diff", timeout_s=10.0)

    assert planted.all_said() == ""


def test_nothing_else_starts_git() -> None:
    starting = [
        f"{path.name}:{node.lineno}"
        for layer in ("bus", "runtime", "actors", "plugins")
        for path in sorted(Path(str(files(f"cortex.{layer}"))).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.List | ast.Tuple)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value in ("git", "/usr/bin/git")
    ]

    assert [place.partition(":")[0] for place in starting] == ["git.py"]
    assert (Path(str(files("cortex.runtime"))) / "code/programs/git.py").exists()
