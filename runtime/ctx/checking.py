"""Whether a package says what its source says."""

import msgspec

from . import sources
from .comparing import differences
from .decoding import Decoded, decode
from .document import Document
from .package import DATA_KINDS, Kind
from .prose import lost


class Report(msgspec.Struct, frozen=True):
    """What `check` found."""

    mode: str
    lost: list[str]  # facts, values or comments that the package does not hold

    @property
    def holds(self) -> bool:
        """Whether nothing is lost."""
        return not self.lost


def check(source: str, kind: Kind, package: str) -> Report:
    """What of *source* the *package* lost: nothing, or the places where they differ.

    An exact package has to give back equal data with its comments, or the same text; a condensed
    one has to state every fact in the sentence that it is of.

    Raises:
        CtxSourceError: *source* is not of that kind.
        CtxFormatError, CtxBoundError: *package* cannot be read.
    """
    found = decode(package)
    if found.mode in ("condensed", "drafted"):
        gone = lost(source, str(found.text))
        return Report(
            found.mode, [f"{fact.sort} {fact.text} {fact.about}".rstrip() for fact in gone]
        )
    if kind not in DATA_KINDS:
        same = found.text == source
        return Report(found.mode, [] if same else ["the text differs"])
    return Report(found.mode, _different(sources.read(source, kind), found))


def _different(own: Document, found: Decoded) -> list[str]:
    theirs = found.document
    if theirs is None:
        return ["it holds a text and no data"]
    return differences(own, theirs)
