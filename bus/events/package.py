"""Packages: the text of chains of memory, compiled ahead of the prompts that it is used in."""

import msgspec

from ..event import Event


class PackageUse(msgspec.Struct, frozen=True, kw_only=True):
    """A package in a prompt, in place of single nodes."""

    package_id: str
    digest: str  # of the blob with the text that is in the prompt
    tokens: int  # of that text
    instead_of: int  # tokens of the nodes that it replaced


class PackageCompile(Event, frozen=True, kw_only=True, tag="package.compile"):
    """Ask to compile a package; `package.compiled` answers, or `package.refused` says why not.

    The same chains in the same scope are one package: it is compiled again.
    """

    belongs = ("package", "")
    routing = "scope"
    personal = ()

    chains: tuple[str, ...] = ()  # ids of nodes, one of each chain; at most 8
    scope: str = "user"  # of the nodes that the package may have
    package_id: str = ""  # of a package to compile again, without `chains`


class PackageSuggest(Event, frozen=True, kw_only=True, tag="package.suggest"):
    """Ask to look now for chains that are retrieved together, and for packages that are stale."""

    belongs = ("package_suggestions", "")


class PackageSuggested(Event, frozen=True, kw_only=True, tag="package.suggested"):
    """Chains were often retrieved, so that a package of them is worth while; it is compiled."""

    belongs = ("package", "package_id")
    routing = "scope"
    subject_field = "subject"
    personal = ("chains",)

    package_id: str
    scope: str
    subject: str = ""  # id of whose personal data the chains are
    chains: tuple[str, ...]  # two that were retrieved together, or one: their oldest nodes
    steps: int  # in whose prompts they were
    since_ns: int  # from when on these were counted, UTC nanoseconds
    through: int  # position up to which they were


class PackageCompiled(Event, frozen=True, kw_only=True, tag="package.compiled"):
    """A package was compiled and stored.

    If nothing of its chains is current any more, `digest` is empty, and no prompt has it.
    """

    belongs = ("package", "package_id")
    routing = "scope"
    subject_field = "subject"
    personal = ("chains", "sources", "replaced", "beside")

    package_id: str
    scope: str
    subject: str = ""  # id of whose personal data its nodes are
    chains: tuple[str, ...]  # ids of a node of each chain
    sources: tuple[str, ...] = ()  # ids of the current nodes in its text, in the text's order
    replaced: tuple[str, ...] = ()  # ids of those that were replaced, behind them in the text
    # Ids of the other nodes of its chains, which left memory, or are of another scope or subject.
    beside: tuple[str, ...] = ()
    digest: str = ""  # of the blob with the text
    tokens: int = 0  # of the text: the compiled size
    # Of the text without what was replaced; the same digest if nothing was.
    current_digest: str = ""
    current_tokens: int = 0
    raw_tokens: int = 0  # of the nodes as prompts show them one by one: the raw size
    through: int  # position up to which it has seen memory
    by: str  # who asked for it, as the hub authenticated them


class PackageRefused(Event, frozen=True, kw_only=True, tag="package.refused"):
    """A package was not compiled."""

    belongs = ("package", "")
    personal = ("reason",)

    asked: str  # topic of the request; its position is the causation
    reason: str  # one line: what is wrong, what was expected, what to do
    by: str
    package_id: str = ""  # of the package that was to be compiled again
