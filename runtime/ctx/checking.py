"""Checks that a package contains everything in its source."""

import msgspec

from .comparing import differences
from .decoding import Decoded, decode
from .document import Document
from .package import DATA_KINDS, Kind
from .prose import left_out, lost
from .sources import sources


class Report(msgspec.Struct, frozen=True):
    """What `check` found."""

    mode: str
    lost: list[str]  # facts, values or comments that the package does not hold
    unkept: list[str] = []  # contents of the source beyond its data, in words

    @property
    def holds(self) -> bool:
        """Whether nothing is lost."""
        return not self.lost


def check(source: str, kind: Kind, package: str) -> Report:
    """What of *source* the *package* lost: nothing, or the places where they differ.

    An exact package has to give back equal data with its comments, or the same text; a condensed
    one has to state every fact in the sentence that it is of; of an extracted one every sentence
    has to be in the source.

    Raises:
        CtxSourceError: *source* is not of that kind.
        CtxFormatError, CtxBoundError: *package* cannot be read.
    """
    found = decode(package, kind=kind)
    if found.mode == "extracted":
        return Report(found.mode, left_out(source, str(found.text)))
    if found.mode in ("condensed", "drafted"):
        gone = lost(source, str(found.text))
        return Report(
            found.mode, [f"{fact.sort} {fact.text} {fact.about}".rstrip() for fact in gone]
        )
    if kind not in DATA_KINDS:
        same = found.text == source
        return Report(found.mode, [] if same else ["the text differs"])
    own = sources.read(source, kind)
    unkept = [] if found.text is not None else own.unkept
    return Report(found.mode, _different(own, found), unkept)


def _different(own: Document, found: Decoded) -> list[str]:
    theirs = found.document
    if theirs is None:
        return ["it holds a text and no data"]
    return differences(own, theirs)
