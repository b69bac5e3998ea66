"""The text of a submitted source, or the finding that says why there is none."""

from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.processes import RULES, Diagnostic, SourceSpan

LARGEST_BYTES = 1 << 20  # the compiler reads no more


def read_blob(blobs: Blobs, digest: str, file: str) -> str | Diagnostic:
    """The text in the blob *digest*, which was submitted as *file*."""
    try:
        data = blobs.get(digest)
    except BlobError as error:
        return _finding("P014", f"the file cannot be read: {error}", file)
    if len(data) > LARGEST_BYTES:
        return _finding("P001", f"the file has more than {LARGEST_BYTES:,} bytes", file)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _finding("P003", f"byte {error.start:,} is not UTF-8", file, line)


def _finding(code: str, message: str, file: str, line: int = 1) -> Diagnostic:
    rule, span = RULES[code], SourceSpan(line, 1, line, 1)
    return Diagnostic(
        code=code,
        severity=rule.severity,
        message=message,
        file=file,
        span=span,
        remedy=rule.remedy,
    )
