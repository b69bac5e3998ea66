"""A process of six steps, each of which needs one thing from the documentation of this project."""

from pathlib import Path
from typing import Final, NamedTuple

from cortex.runtime.context import ContextCompiler, Item, Prompt, PromptStep, Request, TokenCounter

DOCS: Final = Path(__file__).parents[1] / "docs"
WINDOW: Final = 3_200  # V_e of each step
COUNTER: Final = TokenCounter()
COMPILER: Final = ContextCompiler(COUNTER)


class Need(NamedTuple):
    """One step: what it is to do, the page it names, and what it has to read there."""

    step: str
    asks: str
    topic: str
    must_read: str


NEEDS: Final = (
    Need(
        "read_ci_log",
        "Which exit code does a command end with when what was named is not there?",
        "cli",
        "## Exit codes",
    ),
    Need(
        "locate_source",
        "Which folders does a topic of knowledge come from, the narrowest scope first?",
        "context",
        "narrowest first",
    ),
    Need(
        "diagnose",
        "What does it mean that a key in a process is given twice, and what is to be done?",
        "diagnostics",
        "A key may be given once in a map",
    ),
    Need(
        "implement_fix",
        "How is a step of a process retried, with attempts and backoff?",
        "process-language",
        "max_backoff_s: 60",
    ),
    Need(
        "run_tests",
        "What does the gate tests_pass run, and when does it pass?",
        "handlers-and-gates",
        "### `tests_pass`",
    ),
    Need(
        "commit",
        "On which branch is the commit made, and from which commit does the worktree start?",
        "repair",
        "on the branch `cortex/<execution>`",
    ),
)


def pages() -> dict[str, str]:
    """All pages of the documentation, by topic."""
    return {path.stem: path.read_text() for path in sorted(DOCS.glob("*.md"))}


def prompts(texts: dict[str, str]) -> list[Prompt]:
    """One prompt a step, from the page that it names alone."""
    return [
        COMPILER.compile(
            Request(
                step=PromptStep(process="fix_ci_failure", id=need.step, description=need.asks),
                window=200_000,
                effective_window=WINDOW,
                items=(
                    Item(
                        id=need.topic,
                        section="knowledge",
                        kind="knowledge",
                        text=texts[need.topic],
                        trust="trusted",
                    ),
                ),
            )
        )
        for need in NEEDS
    ]
