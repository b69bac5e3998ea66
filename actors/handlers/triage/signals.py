"""How loudly one line says that something went wrong, whatever wrote it."""

import re

_CUE = re.compile(
    r"error|fail|exception|traceback|assert|unexpected|fatal|panic|undefined|cannot|can't|could ?n[o']t"
    r"|could not|unable to|not found|no such|timed out|time-?out|exit(?:ed)? (?:code|status|with)"
    r"|exited|killed|abort|segmentation|core dumped|crash|denied|not ok|refused|unresolved|conflict"
    r"|invalid|missing|mismatch|expected|violation|deadlock|out of memory|overflow|corrupt|broken"
    r"|unhandled|uncaught|rejected|illegal|sig(?:segv|abrt|kill|bus|ill)|cancell?ed|terminated"
    r"|would reformat|differ|returned a non-zero|unsatisf|unrecogni|unknown|forbidden|unauthorized"
    r"|too many|no space left|exceeded|interrupted|goroutine|leak|caused by|\bdied\b|\be: |blame"
    r"|[✕✗✖✘×●❌🚨💥⨯❯]"
)
_SHAPE = re.compile(  # what tests and linters print without any such word
    r"_+ \S|\s{0,12}\d{1,4}\) \S|E  |\[-\] |==> X|\s+\d+:\d+\s|.{1,200}:\d+:(?:\d+:)? \S"
    r"|.{1,200}\(\d+,\d+\): |\s*> .{1,200}:\d+|would reformat|diff in |make(?:\[\d+\])?: \*\*\*"
)
_LOUD = re.compile(
    r"TEST-UNEXPECTED|PROCESS-CRASH|##\[error\]|::error|Traceback \(most recent|panicked at|^panic: "
    r"|Segmentation fault|Sanitizer: |\bFAIL(?:ED)?\b|^not ok\b|core dumped|\*\*\* |SIG(?:SEGV|ABRT)"
    r"|\b(?:fatal|FATAL|CRITICAL|PANIC)\b|^\s*(?:[Ee]rror|ERROR)\b|[✕✗✖✘❌🚨💥]|OutOfMemory|out of memory"
    r"|^\S+:\d+(?::\d+)?: (?:fatal )?error\b|^E  |error(?:\[| [A-Z]{1,6}\d+)|timed out after|Killed$"
)
_CLEAR = re.compile(
    r"\b(?:ERROR|Error|FAILURES?|Fail(?:ed|ures?)|Exception|AssertionError)\b|\w(?:Error|Exception)\b"
    r"|\berror: |\bfailed\b|not found|undefined reference|cannot find|[Tt]imed out|No such file|●"
    r"|exit(?:ed with)? (?:code|status)|denied|unexpected|expected .{0,200}(?:got|but|actual|received)"
    r"|Assertion|Caused by"
)
_BENIGN = re.compile(
    r"\b(?:0|no|without) (?:\w+ )?(?:errors?|fail(?:ed|ures?|ing)|problems|issues|warnings?|conflicts)\b"
    r"|\b(?:errors?|failures?|failed|fail|broken)\b['\"]?\s*[:=]\s*(?:0\b|false|null|none)"
    r"|\.{2,} ?(?:ok|pass(?:ed)?|skipped|xfail)\b|^\s*(?:pass(?:ed)?|ok|skip(?:ped)?)\b|^\s*[✓√✔]"
    r"|\bpassed\b|-werror|error[-_ ]?(?:handl|prone|page)|continue-on-error|fail-?fast|if-no-files"
    r"|^(?:unpacking|setting up|selecting previously|preparing to|get:\d|collecting|downloading"
    r"|requirement already|fetched|installing|using cached|receiving objects|creating|copying|added)\b"
    r"|\bxfail|expected[- ]fail|known[- ]?(?:fail|issue)|test-(?:pass|ok|start|known|info|skip)"
    r"|if: failure\(\)|on-failure|\bretry(?:ing)?\b|deprecat|\bwarn(?:ing)?\b|^\s*[\[#<]*(?:debug|trace)"
    r"|will be ignored|\(ignored\)|non-fatal|allow(?:ed)? to fail|errors? (?:count|rate)\b|\[ *ok *\]"
    r"|--[\w-]*(?:fail|error)|pass(?:ed)? *$|^\s*(?:at |#\d+ |\d+ ?\|)"
)
_SHOUT = re.compile(r"TEST-UNEXPECTED|PROCESS-CRASH|##\[error\]|\*\*\* ")

STRENGTH_MAX = 3.0
_LOUD_STRENGTH, _CLEAR_STRENGTH, _CUE_STRENGTH, _SHAPE_STRENGTH = 3.0, 2.0, 1.0, 0.4
_BENIGN_FACTOR = 0.2


def has_cue(text: str) -> bool:
    """Return whether *text* is worth a closer look; cheap, and true for one line in ten."""
    return _CUE.search(text.lower()) is not None or _SHAPE.match(text) is not None


def strength(text: str) -> float:
    """Return from 0.0 (says nothing) to ``STRENGTH_MAX`` how loudly *text* reports a failure."""
    low = text.lower()
    if _CUE.search(low) is None:
        return _SHAPE_STRENGTH if _SHAPE.match(text) else 0.0
    if _LOUD.search(text):
        value = _LOUD_STRENGTH
    elif _CLEAR.search(text):
        value = _CLEAR_STRENGTH
    else:
        value = _CUE_STRENGTH
    if _BENIGN.search(low) and not _SHOUT.search(text):
        value *= _BENIGN_FACTOR
    return value
