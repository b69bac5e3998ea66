"""What can be wrong with a memory or a question about it.

CortexError
├── MemoryInvalidError    (ValueError) a node, edge, scope or import is malformed
├── MemoryMissingError    (LookupError) no such node, or several that begin so
├── PackageMissingError   (LookupError) no such package, or several that begin so
└── MemoryStoreError      the store of memories cannot be read or written
"""

from cortex.bus import CortexError, with_fields


@with_fields
class MemoryInvalidError(CortexError, ValueError):
    """A node, an edge, a scope or an import is malformed: change it, then try again."""

    problem: str

    says = "{problem}"


@with_fields
class MemoryMissingError(CortexError, LookupError):
    """No node has that id, or several begin with it: `cortex memory search` shows ids."""

    exit_code = 3  # the command line's for a missing thing

    node_id: str
    problem: str
    several: bool = False

    says = "memory {node_id!r} {problem}"


@with_fields
class PackageMissingError(CortexError, LookupError):
    """No package has that id, or several begin with it: `cortex package list` shows ids."""

    exit_code = 3  # the command line's for a missing thing

    package_id: str
    problem: str

    says = "package {package_id!r} {problem}"


@with_fields
class MemoryStoreError(CortexError):
    """The store of memories cannot be used; it may be deleted, and is made again from the log."""

    path: str
    problem: str

    says = "{path}: {problem}"
