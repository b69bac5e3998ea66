"""What a user laid down, as a deterministic state that only explicit directives change."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .breaches import Breach, breaches
    from .change import (
        DEVICE,
        PREMISE,
        Answered,
        Asked,
        Change,
        FactCleared,
        FactSet,
        Pending,
        PoliciesReset,
        PolicyRemoved,
        PolicySet,
        StateCleared,
    )
    from .codec import (
        LARGEST_STATE_BYTES,
        check_state_size,
        export_checkpoint,
        export_state,
        import_checkpoint,
        import_state,
        left_out,
        not_utf_8,
    )
    from .deciding import Asking, Request, decide, named_part, refusal
    from .decision import (
        Clarify,
        Decision,
        Error,
        Failure,
        NoDirective,
        Passthrough,
        SemanticFailure,
        Update,
    )
    from .difference import Differences, Replaced, StateDiff, state_diff
    from .directive import Directive, DirectiveKind, InvalidSyntax, SyntaxFailure
    from .document import (
        FACTS,
        DirectiveRow,
        PreviewDocument,
        ScopeDocument,
        line_of,
        named_changes,
        preview_document,
        scope_document,
    )
    from .errors import (
        ChangesLostError,
        DirectivesError,
        RequestRefusedError,
        StateInvalidError,
        StateVersionError,
    )
    from .grammar import read, text_of
    from .home_directives import HistoryRow, HomeDirectives, NoSuchBranchError
    from .in_force import NOTHING, InForce, LaidDown, Ledgers, in_force, laid_down
    from .ledger import (
        EMPTY_LEDGER,
        ENGINE,
        MAIN,
        Branch,
        Content,
        ScopeLedger,
        evolve,
        parts_changed,
    )
    from .materials import Material, materials_of
    from .merging import Merge, merge, recall
    from .model_rules import allowed_models, wanted_model
    from .naming import aliases, directive_about, meaning, plainest, same_thing
    from .overruling import (
        Overruling,
        ScopedOverruling,
        overruled_by,
        package_with_overruled,
    )
    from .profile import DIALOGUE, PROFILES, SEED, STRICT, Profile
    from .recent_ledgers import RecentLedgers
    from .running import DirectiveHolder, Preview, Replayed, preview, replay
    from .state import INITIAL, State, apply, fold
    from .stored_changes import loaded, number_of_changes, stored
    from .strict import submit
    from .text_map import TextMap
else:
    lazily(__name__)

__all__ = [
    "DEVICE",
    "DIALOGUE",
    "EMPTY_LEDGER",
    "ENGINE",
    "FACTS",
    "INITIAL",
    "LARGEST_STATE_BYTES",
    "MAIN",
    "NOTHING",
    "PREMISE",
    "PROFILES",
    "SEED",
    "STRICT",
    "Answered",
    "Asked",
    "Asking",
    "Branch",
    "Breach",
    "Change",
    "ChangesLostError",
    "Clarify",
    "Content",
    "Decision",
    "Differences",
    "Directive",
    "DirectiveHolder",
    "DirectiveKind",
    "DirectiveRow",
    "DirectivesError",
    "Error",
    "FactCleared",
    "FactSet",
    "Failure",
    "HistoryRow",
    "HomeDirectives",
    "InForce",
    "InvalidSyntax",
    "LaidDown",
    "Ledgers",
    "Material",
    "Merge",
    "NoDirective",
    "NoSuchBranchError",
    "Overruling",
    "Passthrough",
    "Pending",
    "PoliciesReset",
    "PolicyRemoved",
    "PolicySet",
    "Preview",
    "PreviewDocument",
    "Profile",
    "RecentLedgers",
    "Replaced",
    "Replayed",
    "Request",
    "RequestRefusedError",
    "ScopeDocument",
    "ScopeLedger",
    "ScopedOverruling",
    "SemanticFailure",
    "State",
    "StateCleared",
    "StateDiff",
    "StateInvalidError",
    "StateVersionError",
    "SyntaxFailure",
    "TextMap",
    "Update",
    "aliases",
    "allowed_models",
    "apply",
    "breaches",
    "check_state_size",
    "decide",
    "directive_about",
    "evolve",
    "export_checkpoint",
    "export_state",
    "fold",
    "import_checkpoint",
    "import_state",
    "in_force",
    "laid_down",
    "left_out",
    "line_of",
    "loaded",
    "materials_of",
    "meaning",
    "merge",
    "named_changes",
    "named_part",
    "not_utf_8",
    "number_of_changes",
    "overruled_by",
    "package_with_overruled",
    "parts_changed",
    "plainest",
    "preview",
    "preview_document",
    "read",
    "recall",
    "refusal",
    "replay",
    "same_thing",
    "scope_document",
    "state_diff",
    "stored",
    "submit",
    "text_of",
    "wanted_model",
]
