"""The exit codes: part of the interface, so a number never gets a new meaning."""

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
UNUSABLE = 4
WAITING = 5
UNTRUSTED = 6
DEFECT = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143

NOT_TEXT = "surrogates not allowed"  # Python's error for a folder name that is not UTF-8

MEANINGS = {
    OK: "done; an execution completed",
    FAILED: "the execution failed, halted or was cancelled; a source has errors",
    USAGE: "the command line is wrong, or names what is not UTF-8",
    NOT_FOUND: "the named object does not exist, or several match",
    UNUSABLE: "the home cannot be used: its config.toml, log, blobs or components (`cortex doctor` "
    "says more), or its hub went away",
    WAITING: "an execution waits: for a person's answer, at a breakpoint, or because it was paused",
    UNTRUSTED: "the home is not trusted, so nothing of it runs: `cortex trust --show` says what "
    "would",
    DEFECT: "a defect of Cortex, or of a command that another package adds, which is named then; "
    "`CORTEX_DEBUG=1` shows where",
    INTERRUPTED: "interrupted by Ctrl-C; a running execution was paused",
    BROKEN_PIPE: "the reader of the output closed it, as `head` does",
    TERMINATED: "ended by SIGTERM; an execution on a hub continues, another one when it is resumed",
}

_CODES = {
    "completed": OK,
    "waiting": WAITING,
    "interrupted": INTERRUPTED,
    "terminated": TERMINATED,
}


def exit_code(ending: str) -> int:
    """The exit code of a command that followed an execution to this `Ending`."""
    return _CODES.get(ending, FAILED)


def exit_code_of(error: BaseException) -> int:
    """The code that the command ends with when *error* reaches it."""
    # Here, not at the top: `cortex --help` does not need the bus.
    from cortex.bus import CortexError, LogError
    from cortex.runtime.kernel import HomeError, ManifestError, NotReadyError
    from cortex.runtime.log import BlobError
    from cortex.runtime.projections import ProjectionError

    unusable = LogError | BlobError | HomeError | ManifestError | NotReadyError | ProjectionError
    if isinstance(error, unusable):
        return UNUSABLE
    if isinstance(error, CortexError):
        return error.exit_code
    if isinstance(error, UnicodeEncodeError) and error.reason == NOT_TEXT:
        return USAGE
    return FAILED if isinstance(error, OSError) else DEFECT
