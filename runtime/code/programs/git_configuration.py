"""Overrides for the unsafe settings of a git configuration, set before git runs; pure.

The author of a checkout wrote its configuration, and many of git's keys name programs. So this is
an allowlist: a setting of a checkout is used if it is known to be data, or is a number or a boolean
under a name that no program has. All others are overridden, also keys of newer versions of git.

Settings that weaken a check of git, such as `http.sslVerify`, are overridden, too: they could send
the user's password to an attacker.

Conditions do not count: `includeIf` looks at the branch, which changes while git runs. Settings
under any condition are overridden.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

OF_THE_CHECKOUT = frozenset(("local", "worktree"))
HOOKS_PATH = "core.hookspath"
WORK_TREE = "core.worktree"
INCLUDES = frozenset(("include", "includeif"))  # sections that name files; they are followed

# Nothing beside the command itself: no daemon, no packing, nothing inside submodules, no signature
# that is looked at. Last, so that they win.
ALWAYS = (
    ("core.fsmonitor", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("diff.submodule", "short"),
    ("status.submodulesummary", "false"),
    ("log.showsignature", "false"),
    # A folder of a checkout may look like a repository, with a configuration that came with it.
    ("safe.barerepository", "explicit"),
)
NO_HOOKS = ((HOOKS_PATH, os.devnull),)
# Without a grant, nothing is signed and no password is asked for.
NOTHING_GRANTED = (
    *NO_HOOKS,
    ("core.safecrlf", "false"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("push.gpgsign", "false"),
    ("credential.helper", ""),
)

_PLAIN = re.compile(r"(?:true|false|yes|no|on|off|[+-]?\d+[kmg]?)?", re.IGNORECASE)
# Last parts of keys that name programs, or folders of programs, in any section.
_STARTED = (
    "alternaterefscommand askpass browser cccmd clean cmd command defaultkeycommand difffilter "
    "driver editor external fsmonitor gitproxy headercmd helper hookspath httpd modulepath "
    "packobjectshook pager path process program receivepack recentobjectshook required smtpserver "
    "smudge sshcommand templatedir textconv tocmd tunnel update uploadpack vcs viewer"
)
_PROGRAMS = frozenset(_STARTED.split())
# What keeps the other end of a push, and what a tree may name, from being somebody else's choice:
# the user's own to take away, also where it is only a yes or no.
_GUARDS = {
    "core": "protecthfs protectntfs",
    "credential": "protectprotocol sanitizeprompt",
    "http": (
        "delegation emptyauth proxysslcainfo schannelcheckrevoke schannelusesslcainfo sslcainfo "
        "sslcapath sslcipherlist ssltry sslverify sslversion"
    ),
}
# Replacements; otherwise "", which git ignores or cannot start.
_INSTEAD = {
    ("core", "fsmonitor"): "false",
    ("core", "hookspath"): os.devnull,
    ("core", "sshcommand"): "ssh",
    ("core", "pager"): "cat",
    ("core", "editor"): ":",
    ("core", "protecthfs"): "true",
    ("core", "protectntfs"): "true",
    ("credential", "protectprotocol"): "true",
    ("credential", "sanitizeprompt"): "true",
    ("http", "delegation"): "none",
    ("http", "emptyauth"): "auto",
    ("http", "schannelcheckrevoke"): "true",
    ("http", "schannelusesslcainfo"): "false",
    ("http", "ssltry"): "true",
    ("http", "sslverify"): "true",
    ("sequence", "editor"): ":",
    ("filter", "required"): "false",  # without its program a filter that is required would fail
    ("remote", "receivepack"): "git-receive-pack",
    ("remote", "uploadpack"): "git-upload-pack",
    ("submodule", "update"): "none",
}
_RUNNING = frozenset(("ext", "fd"))  # ways to a remote whose address is a program
_SIGNING = {"": "gpg", "openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}
# Sections of data, and of others the keys whose text is data.
_READ = (
    "add advice am apply author blame branch checkout clean clone color column commit commitgraph "
    "committer extensions feature fetch format fsck gc grep i18n index log lsrefs mailinfo mailmap "
    "maintenance notes pack pretty protocol pull push rebase receive remotes repack rerere revert "
    "safe showbranch sparse splitindex stash status tag transfer uploadpack url user versionsort "
    "worktree"
)
_SECTIONS = frozenset(_READ.split())
_DATA = {
    "core": (
        "abbrev attributesfile autocrlf checkroundtripencoding checkstat commentchar commentstring "
        "createobject eol excludesfile fsync fsyncmethod hidedotfiles logallrefupdates notesref "
        "safecrlf sharedrepository splitindex untrackedcache whitespace worktree"
    ),
    "credential": "username",
    "diff": (
        "algorithm colormoved colormovedws dirstat funcname ignoresubmodules orderfile renames "
        "submodule wordregex wserrorhighlight xfuncname binary"
    ),
    "gpg": "format mintrustlevel allowedsignersfile revocationfile",
    "http": (
        "extraheader followredirects proactiveauth proxy proxyauthmethod sslbackend sslcert sslkey "
        "useragent version"
    ),
    "init": "defaultbranch defaultobjectformat defaultrefformat",
    "lfs": "access url pushurl",
    "merge": "conflictstyle directoryrenames ff log name recursive renames suppressdest",
    "remote": "fetch followremotehead mirror partialclonefilter proxy push pushurl tagopt url",
    "ssh": "variant",
    "submodule": "active branch fetchrecursesubmodules ignore url",
    "trailer": "ifexists ifmissing key separators where",
}


class Setting(msgspec.Struct, frozen=True):
    """One line of a configuration."""

    scope: str  # as git names it: system, global, local, worktree, command
    key: str  # section and last part in small letters, what stands between as it is
    value: str  # "true" where it has none

    @property
    def section(self) -> str:
        """The first part of its key."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """The last part of its key."""
        return self.key.rpartition(".")[2]


def listed(said: bytes, scope: str = "") -> list[Setting]:
    """The settings that `git config --list -z` prints; with `--show-scope` where no *scope*."""
    fields = os.fsdecode(said).split("\0")[:-1]
    if scope:
        pairs = [(scope, entry) for entry in fields]
    else:
        pairs = list(zip(fields[::2], fields[1::2], strict=True))
    settings: list[Setting] = []
    for of, entry in pairs:
        key, has_value, value = entry.partition("\n")
        settings.append(Setting(of, key, value if has_value else "true"))
    return settings


def overridden(
    found: Sequence[Setting], own: Sequence[Setting] | None = None
) -> Iterator[tuple[str, str]]:
    """The keys and values that override *found*, in order.

    Args:
        found: All settings, conditional ones included.
        own: Settings of the user's own configuration, which are used; None if no program of any
            configuration may run.
    """
    heard = [s for s in found if own is None or s.scope in OF_THE_CHECKOUT]
    keys = {s.key: s for s in heard if not _is_data(s)}
    helpers = [key for key in keys if _is_helper(key)]
    for key, setting in sorted(keys.items()):
        if key not in helpers:
            yield key, _instead(setting)
            yield from ((key, s.value) for s in own or () if s.key == key)
    if helpers:  # an empty one takes back all that were named before, for whatever address
        yield "credential.helper", ""
        yield from ((s.key, s.value) for s in own or () if _is_helper(s.key))


def protocols(own: Iterable[Setting]) -> str:
    """The ways to a remote that a push may take: git's own, and what the user has allowed."""
    allowed = {"file", "http", "https", "ssh"}
    for setting in own:
        if setting.section == "protocol" and setting.key.count(".") > 1:
            name = setting.key.removeprefix("protocol.").rpartition(".")[0]
            (allowed.discard if setting.value == "never" else allowed.add)(name)
    return ":".join(sorted(allowed - _RUNNING)) or "none"


def _is_data(setting: Setting) -> bool:
    if setting.section in INCLUDES:
        return True
    if setting.section in ("alias", "pager") or setting.name in _PROGRAMS:
        return False
    if setting.name in _GUARDS.get(setting.section, "").split():
        return False
    if setting.section in _SECTIONS or setting.name in _DATA.get(setting.section, "").split():
        return True
    return _PLAIN.fullmatch(setting.value) is not None


def _is_helper(key: str) -> bool:
    return key.startswith("credential.") and key.endswith(".helper")


def _instead(setting: Setting) -> str:
    if (setting.section, setting.name) == ("gpg", "program"):
        return _SIGNING.get(setting.key.removeprefix("gpg").removesuffix("program").strip("."), "")
    return _INSTEAD.get((setting.section, setting.name), "")
