"""Gate evaluators: each answers one kind of precondition, with evidence."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .approved import Approved
    from .branch_clean import BranchClean
    from .command import Command
    from .directives import DirectivesClarified, DirectivesHold
    from .preconditions import ExecutionContextExists, FileExists, ModelAvailable
    from .tests_pass import TestsPass

__all__ = [
    "Approved",
    "BranchClean",
    "Command",
    "DirectivesClarified",
    "DirectivesHold",
    "ExecutionContextExists",
    "FileExists",
    "ModelAvailable",
    "TestsPass",
]

lazily(__name__)
