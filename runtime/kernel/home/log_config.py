"""Settings for the log: when its oldest records are archived, and what auditors are owed."""

from typing import Annotated

from msgspec import Meta, Struct


class ArchiveConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """When a running hub moves the oldest records of the log into the archive."""

    age_days: Annotated[
        int,
        Meta(
            ge=0,
            le=36_500,
            description="records that are so many days older than the newest one are sealed; 0 "
            "seals none for its age",
        ),
    ] = 30
    log_mb: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000_000,
            description="while log.db has more megabytes in use, its oldest records are sealed; 0 "
            "seals none for its size",
        ),
    ] = 1_000


class HeadReceiver(Struct, frozen=True, forbid_unknown_fields=True):
    """One place to which signed heads are handed; exactly one of its keys is set."""

    file: Annotated[
        str,
        Meta(
            description="a file that has the newest head, or a folder that gets a file for each "
            "head; a relative path starts at the home's folder"
        ),
    ] = ""
    git: Annotated[
        str, Meta(description="the work tree of a git repository, where each head is committed")
    ] = ""
    command: Annotated[
        tuple[str, ...], Meta(description="program and words; it gets the file of the head as last")
    ] = ()

    def __post_init__(self) -> None:
        """Refuse a receiver that is none, or two at once."""
        if sum(map(bool, (self.file, self.git, self.command))) != 1:
            raise ValueError("give one of file, git and command")


class AuditConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What this home owes to auditors."""

    keep: Annotated[
        str,
        Meta(
            pattern=r"^([1-9][0-9]{0,3} (day|month|year)s?)?$",
            description='how long records are kept, as in `"6 months"`: no command removes '
            "younger ones; unset, nothing is refused",
        ),
    ] = ""
    heads: Annotated[
        tuple[HeadReceiver, ...],
        Meta(description="who is handed each head that is signed, one table for each"),
    ] = ()
