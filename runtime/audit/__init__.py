"""For auditors: signed heads of the log, proofs, and a program that checks them without Cortex."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .ai_act import CLAUSES, SERVES, unmapped
    from .auditing import Auditing, write_new
    from .cosigning import Cosigned, Cosigning, SeenHead, Signed, Standing, sign
    from .heads_check import HeadsCheck, heads_to_check
    from .notes import (
        Algorithm,
        AuditError,
        OfLogs,
        SignedHead,
        SigningKey,
        TreeHead,
        VerifierKey,
    )
    from .proofs import ConsistencyProof, InclusionProof
    from .receivers import Handed
    from .report import ReportDocument, report
    from .retention import kept_since, refuse_loss
    from .verify import main as verify
    from .witness import Reply, Witness, WitnessedLog
    from .witness_ports import HttpWitness, KnownWitness
    from .witness_server import WitnessServer
else:
    lazily(__name__)

__all__ = [
    "CLAUSES",
    "SERVES",
    "Algorithm",
    "AuditError",
    "Auditing",
    "ConsistencyProof",
    "Cosigned",
    "Cosigning",
    "Handed",
    "HeadsCheck",
    "HttpWitness",
    "InclusionProof",
    "KnownWitness",
    "OfLogs",
    "Reply",
    "ReportDocument",
    "SeenHead",
    "Signed",
    "SignedHead",
    "SigningKey",
    "Standing",
    "TreeHead",
    "VerifierKey",
    "Witness",
    "WitnessServer",
    "WitnessedLog",
    "heads_to_check",
    "kept_since",
    "refuse_loss",
    "report",
    "sign",
    "unmapped",
    "verify",
    "write_new",
]
