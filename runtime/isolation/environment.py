"""The environment that a program is given: what every program may expect, and what was named.

Test suites, build scripts and tool servers run much unreviewed code, and the environment of
the runtime holds keys. So this lists what is passed on, not what is held back.
"""

import os
from collections.abc import Collection, Iterator, Mapping

# None of these holds a secret by what it is for.
_ORDINARY = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"),
        "CORTEX_DEBUGGABLE",  # what we start is as open as we are
        *("COLORTERM", "COLUMNS", "LINES", "NO_COLOR"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),  # which Python is meant
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("NODE_EXTRA_CA_CERTS", "NO_PROXY", "no_proxy"),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
        *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    )
)
_FAMILIES = ("LC_", "XDG_")
# Folders in which programs and libraries are looked for: an entry that is empty or relative would
# be the folder one stands in.
SEARCHED = frozenset(("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"))
_PROXIES = frozenset(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"))

# What else git gets where it acts in the user's name: what signs, and at a remote what logs in.
TO_SIGN = ("GNUPGHOME", "GPG_AGENT_INFO", "GPG_TTY")
AT_REMOTE = (
    *TO_SIGN,
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT"),
    *("GIT_ASKPASS", "SSH_ASKPASS", "DBUS_SESSION_BUS_ADDRESS"),
    *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
    *("GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN"),  # what credential helpers ask for
)


def environment_for(
    passed: Collection[str] = (),
    hidden: Collection[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """The variables of this process that a program gets.

    A proxy is among them unless its address holds a password.

    Args:
        passed: Those that it gets beside what every program does.
        hidden: Those that it does not get unless they are *passed*, whatever they are called.
        environment: Instead of this process's own.
    """
    return dict(_chosen(frozenset(passed), frozenset(hidden), environment))


def _chosen(
    passed: frozenset[str], hidden: frozenset[str], environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for name, value in environment.items():
        if name not in passed and (name in hidden or not _ordinary(name, value)):
            continue
        yield name, absolute(value) if name in SEARCHED else value


def _ordinary(name: str, value: str) -> bool:
    if name.upper() in _PROXIES:
        return "@" not in value
    return name in _ORDINARY or name in SEARCHED or name.startswith(_FAMILIES)


def absolute(folders: str) -> str:
    """*folders* of a search path without those that depend on where one stands."""
    return os.pathsep.join(each for each in folders.split(os.pathsep) if os.path.isabs(each))  # noqa: PTH117  # a path on the way to a program, as it stands
