"""`cortex audit`: keys, signed heads and proofs, for people who do not trust this program."""

from pathlib import Path
from typing import get_args

import click
import msgspec

from cortex.runtime.audit import (
    Auditing,
    Cosigned,
    Handed,
    OfLogs,
    ReportDocument,
    heads_to_check,
    verify,
    write_new,
)
from cortex.runtime.audit import report as reported
from cortex.runtime.audit import sign as signed_of
from cortex.runtime.kernel import Home, many

from ..exits import FAILED, OK
from ..options import at_home, with_past
from ..screen import Screen
from ..tree import Family, Lazy

ERASE = "Make what is recorded of a subject unreadable for ever."
SUBJECTS = "List the subjects whose personal data is encrypted."
WITNESS = "Let others keep the heads of this log, or keep those of others."
_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this new file instead of standard output.",
)


class KeyRow(msgspec.Struct):
    """A public key."""

    name: str
    algorithm: str
    key: str  # what others are given


class TextDocument(msgspec.Struct):
    """A signed head or a proof, as its file has it."""

    text: str


class SignedDocument(msgspec.Struct):
    """A signed head, and what became of it."""

    text: str
    witnesses: list[Cosigned]
    handed: list[Handed]  # receivers of `[audit] heads`


@click.group(
    cls=Family,
    later={
        "erase": Lazy("audit_erase:erase", ERASE),
        "subjects": Lazy("audit_erase:subjects", SUBJECTS),
        "witness": Lazy("audit_witness:witness", WITNESS),
    },
)
def audit() -> None:
    """Sign, prove and check the log, and erase a person."""


@audit.group(cls=Family)
def key() -> None:
    """Manage the keys that sign the log."""


@key.command()
@click.argument("name")
@click.option(
    "--algorithm",
    type=click.Choice(get_args(OfLogs)),
    default="ed25519",
    show_default=True,
    help="ML-DSA-44 withstands quantum computers; its signatures have 2,420 bytes.",
)
@at_home
def new(name: str, algorithm: OfLogs, home: Home, screen: Screen) -> None:
    """Make a key NAME, and print its public key.

    NAME is best an address of yours without its scheme, such as example.com/team. The private key
    stays in keys/ of the home; give the public key to whoever checks.
    """
    home.open()
    made = Auditing(home).new_key(name, algorithm)
    screen.document(KeyRow(made.name, made.algorithm, made.text()))
    screen.line(made.text())


@key.command("list")
@at_home
def list_(home: Home, screen: Screen) -> None:
    """List the public keys."""
    home.check()
    rows = [KeyRow(each.name, each.algorithm, each.text()) for each in Auditing(home).public_keys()]
    screen.document(rows)
    screen.lines(row.key for row in rows)


@audit.command()
@_OUT
@click.option(
    "--declare-fork",
    is_flag=True,
    help="Sign a log that lost events which were signed before, under a new origin.",
)
@at_home
def sign(out: Path | None, declare_fork: bool, home: Home, screen: Screen) -> int:
    """Sign how many events the log has and what they are; print the signed head.

    Keep the head where the owner of the home cannot change it: only against a head that somebody
    else keeps does an auditor notice that the end of the log was cut off. Witnesses cosign it, and
    receivers in `[audit] heads` are handed it.

    Ends with 1 if a witness did not cosign, or a receiver did not get the head, which is signed.
    """
    home.check()
    home.require_trust()
    found = signed_of(home, declares_fork=declare_fork)
    text = found.head.text()
    screen.document(SignedDocument(text, found.witnesses, found.handed))
    _put(text, out, screen)
    for problem in found.problems:
        screen.warn(problem)
    return FAILED if found.problems else OK


@audit.command()
@click.argument("position", type=click.IntRange(min=1))
@click.option(
    "--only",
    type=click.Choice(get_args(OfLogs)),
    help="Leave out signatures of another kind; the proof is smaller.",
)
@_OUT
@at_home
def prove(position: int, only: OfLogs | None, out: Path | None, home: Home, screen: Screen) -> None:
    """Prove that the event at POSITION is in the log (.tlog-proof)."""
    home.check()
    home.require_trust()
    _give(Auditing(home).prove(position, only).text(), out, screen)


@audit.command()
@click.argument("old", type=click.IntRange(min=1))
@_OUT
@at_home
def consistency(old: int, out: Path | None, home: Home, screen: Screen) -> None:
    """Prove that the log of OLD events is the beginning of the log that was signed last."""
    home.check()
    home.require_trust()
    _give(Auditing(home).consistency(old).text(), out, screen)


@audit.command()
@click.argument("position", type=click.IntRange(min=1))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@at_home
def record(position: int, file: Path, home: Home, screen: Screen) -> None:
    """Write the exact bytes of the event at POSITION to the new FILE, to check a proof with."""
    home.check()
    data = Auditing(home).record(position)
    with file.open("xb") as made:
        made.write(data)
    screen.document({"file": str(file), "bytes": len(data)})
    screen.line(many(len(data), "byte"))


@audit.command("verify")
@click.option("--head", type=click.Path(), multiple=True, help="A signed head to check against.")
@click.option("--key", "keys", multiple=True, help="A public key, or its file.")
@click.option("--heads", is_flag=True, help="Also check against what witnesses saw.")
@at_home
def verify_(
    head: tuple[str, ...], keys: tuple[str, ...], heads: bool, home: Home, screen: Screen
) -> int:
    """Check every event and blob, and that the log is what signed heads say.

    Without --head, it checks against the newest head in the home. This runs the program
    runtime/audit/verify.py, which needs nothing of Cortex: to depend on nobody, run a copy of it.

    With --heads, it asks each witness for the newest head that it saw: an end of the log that was
    cut off below it is found. A loss that the log itself declares is named, and is no damage.

    Ends with 1 if something is wrong; the line says where, and what kind of damage it is.
    """
    home.check()
    asked = Auditing(home)
    if heads:
        home.require_trust()  # it asks what the home names
        with heads_to_check(home) as seen:
            screen.notes(seen.problems)
            screen.notes(seen.declared, "dim")
            if seen.unanswered:
                raise click.UsageError(seen.unanswered)
            keys = (*keys, *(each.text() for each in asked.public_keys()), *seen.keys)
            return _verified(asked, (*head, *seen.files), keys, home, screen)
    return _verified(asked, head, keys, home, screen)


def _verified(
    asked: Auditing, head: tuple[str, ...], keys: tuple[str, ...], home: Home, screen: Screen
) -> int:
    newest = asked.newest_path()
    heads = head or (() if newest is None else (str(newest),))
    known = keys or tuple(each.text() for each in asked.public_keys())
    if heads and not known:
        raise click.UsageError(
            "there is no key here to check a signed head with: give the public one with --key"
        )
    arguments = [str(home.log_path.absolute())]
    arguments += [f"--blobs={home.blobs}"] if home.blobs.is_dir() else []
    arguments += [f"--head={each}" for each in heads]
    arguments += [f"--key={each}" for each in known] if heads else []
    return verify([*arguments, *(["--json"] if screen.as_json else [])])


@audit.command()
@at_home
@with_past
def report(home: Home, screen: Screen) -> int:
    """Show which events serve which clause of the EU AI Act on logs, and what is not covered.

    Says since when there are records and whether they reach back six months, whether the log
    verifies, and which heads are signed. With --at, it counts events up to then; it verifies the
    whole log all the same.

    Ends with 1 if the log does not verify.
    """
    document = reported(home)
    screen.document(document)
    _show_report(screen, document)
    return FAILED if document.problem else OK


def _show_report(screen: Screen, found: ReportDocument) -> None:
    screen.line(f"Logs under Regulation (EU) 2024/1689: {found.home}", "bold")
    screen.facts(_standing(found))
    screen.line()
    screen.rows(
        found.clauses,
        {"clause": "clause", "events": "events", "demand": "demand", "served by": "means"},
        known=True,
    )
    screen.line()
    for title, kinds in (
        ("of plugins", found.of_plugins),
        ("serve none", found.serve_none),
    ):
        for kind in kinds:
            screen.line(f"{title}: {kind.topic} {kind.events:,}")
    screen.line("Not covered", "bold")
    screen.lines(f"- {each}" for each in found.not_covered)


def _standing(found: ReportDocument) -> list[tuple[str, str]]:
    kept = found.retention
    reach = "yes" if kept.six_months else "not yet" if kept.since else "there are no records"
    good = [row for row in found.heads if row.signed_by]
    by = ", ".join(good[-1].signed_by) if good else ""
    signed = f"{many(good[-1].events, 'event')}, by {by}" if good else ""
    return [
        ("log", found.log_id or "nothing was recorded yet"),
        ("events", f"{found.at:,}"),
        ("records", f"{kept.since} to {kept.until}" if kept.since else ""),
        ("6 months", f"{reach}: whether records reach back that far"),
        ("keep", kept.keep or "not set: `[audit] keep` in config.toml"),
        ("verifies", found.problem or ("yes" if found.log_id else "")),
        ("heads", f"{many(len(found.heads), 'head')}, {len(good):,} signed by a key of this home"),
        ("witnessed", _witnessed(found)),
        ("signed", signed or "nothing is signed: cortex audit sign"),
    ]


def _witnessed(found: ReportDocument) -> str:
    each = [
        f"{many(row.events, 'event')} by {row.name}"
        + ("" if row.counts else f" (counts as none: {row.why_not})")
        for row in found.witnesses
    ]
    return "; ".join(each) or "no witness: cortex audit witness add NAME"


def _give(text: str, out: Path | None, screen: Screen) -> None:
    screen.document(TextDocument(text))
    _put(text, out, screen)


def _put(text: str, out: Path | None, screen: Screen) -> None:
    if out is not None:
        write_new(out, text)
        screen.line(f"written to {out}")
    elif not screen.as_json:
        click.echo(text, nl=False)
