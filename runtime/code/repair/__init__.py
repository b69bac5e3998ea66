"""Repairs a checkout: edits in a worktree, test commands and results, commits, web hooks."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .before import keep_before, restore_before
    from .checkout import Sources, sources_at, uncommitted
    from .commands import PYTHONS, TestOutput, find_command, looked_at, read_output
    from .commits import check_branch, commit, made_by, message_of, push, trailers_of
    from .dropped import NO_TREE, WRITES, AskedThere, clear_leftovers, drop, locked, work_tree
    from .errors import (
        CheckoutUnusableError,
        GitFailedError,
        HookFailedError,
        HookRefusedError,
        HookUnansweredError,
        PatchRefusedError,
        RepairError,
    )
    from .git import Git
    from .patch import (
        Edit,
        EditError,
        PathRefusedError,
        WriteCodeAnswer,
        apply_edit,
        checked_path,
        nearest_line,
        planned,
        write,
    )
    from .records import TESTS_FAILED, RepairRecord, recorded_repair, repair_of
    from .tree import changed_since, tree_of
    from .web_hook import hook_secret, hook_signature, hook_url, post_hook
    from .worktree import (
        Worktree,
        branch_of,
        find_worktree,
        folder_of,
        fresh_worktree,
        head_of,
        owner_of,
        remove_worktree,
    )
else:
    lazily(__name__)

__all__ = [
    "NO_TREE",
    "PYTHONS",
    "TESTS_FAILED",
    "WRITES",
    "AskedThere",
    "CheckoutUnusableError",
    "Edit",
    "EditError",
    "Git",
    "GitFailedError",
    "HookFailedError",
    "HookRefusedError",
    "HookUnansweredError",
    "PatchRefusedError",
    "PathRefusedError",
    "RepairError",
    "RepairRecord",
    "Sources",
    "TestOutput",
    "Worktree",
    "WriteCodeAnswer",
    "apply_edit",
    "branch_of",
    "changed_since",
    "check_branch",
    "checked_path",
    "clear_leftovers",
    "commit",
    "drop",
    "find_command",
    "find_worktree",
    "folder_of",
    "fresh_worktree",
    "head_of",
    "hook_secret",
    "hook_signature",
    "hook_url",
    "keep_before",
    "locked",
    "looked_at",
    "made_by",
    "message_of",
    "nearest_line",
    "owner_of",
    "planned",
    "post_hook",
    "push",
    "read_output",
    "recorded_repair",
    "remove_worktree",
    "repair_of",
    "restore_before",
    "sources_at",
    "trailers_of",
    "tree_of",
    "uncommitted",
    "work_tree",
    "write",
]
