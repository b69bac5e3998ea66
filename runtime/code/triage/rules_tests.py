"""How test frameworks name a test that failed; the first rule that fits counts."""

# ruff: noqa: E501, RUF001  # a table, one rule a line, with the very marks that tools print

from typing import Final

from .rules import FailureRule, rule

_T: Final = "failing_test"
_FILE = r"[\w./\\@+-]{1,300}"
_TIME = r"(?: [\[(]?\d[\d.,:hms ]{0,24}(?:m?s|sec|seconds)?[\])]?)?"

MOZILLA = (
    rule(_T, "mozilla", "TEST-UNEXPECTED-",
         r"(?:.{0,80}?)(?P<t>(?:REFTEST )?TEST-UNEXPECTED-[A-Z]+ \| [^|]{1,600}(?:\| (?P<m>.*))?)$"),
    rule("crash", "mozilla", "PROCESS-CRASH", r".{0,80}?(?P<t>PROCESS-CRASH \| .+)", "indent"),
    rule("crash", "mozilla", ("Hit MOZ_CRASH", "Assertion failure: ", "MOZ_RELEASE_ASSERT"),
         r"(?P<t>.{0,200}(?:Hit MOZ_CRASH|Assertion failure: |MOZ_RELEASE_ASSERT).*)", "line", 0.95),
)  # fmt: skip

PYTHON = (
    rule(_T, "pytest", "_ ", r"_+ (?:ERROR (?:collecting|at \w+ of) )?(?P<t>(?!summary _|_ _)\S.*?) _+$", "section"),
    rule(_T, "pytest", (".py", "::"),
         r"(?:\[gw\d+\] (?:\[ *\d+%\] )?)?(?:FAILED|ERROR) (?P<t>\S+\.(?:py|yaml|yml|md|rst|txt)(?:::[^ ]+(?: [^-]{1,200}\])?)?)(?: - (?P<m>.*))?$"),
    rule(_T, "pytest", ("FAILED", "ERROR"), r"(?P<t>\S+\.py::\S.{0,300}?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$", "line", 0.9),
    rule(_T, "unittest", ("FAIL: ", "ERROR: "),
         r"(?:FAIL|ERROR): (?P<t>(?:(?:test|setUp|tearDown)\w*|[\w.]+\.test\w*[\w.]*|unittest\.[\w.]+|[\w.]+(?= \())(?: \(.*\))?(?: \[.*\])?(?: \(.*\))?)$", "section"),
    rule(_T, "unittest", ("... FAIL", "... ERROR"), r"(?:\{\d+\} )?(?!test \S+ \.\.\.)(?P<t>[^|]{1,300}?)(?: \[[\d.s]+\])? ?\.\.\. ?(?:FAIL|ERROR)(?:ED)?\b", "indent", 0.95),
)  # fmt: skip

JAVASCRIPT = (
    rule(_T, "jest", "● ", r"\s*● (?!Console|Deprecation|Cannot log|Validation|Running|process\.exit|open handle)(?P<t>\S.{1,600})$", "indent"),
    rule(_T, "vitest", ("FAIL ", "FAIL\t"), rf"\s*FAIL\s+(?:\|?[\w@/-]+\|? )?(?:\S+ )?(?P<t>{_FILE}\.\w+ > .+?)(?: \[[^\[\]]*\])?{_TIME}$", "indent"),
    rule(_T, "jest", "FAIL", rf"\s*FAIL\s+(?:[\w@:-]+ +)?(?P<t>{_FILE}\.(?:[cm]?[jt]sx?|vue|svelte|feature))(?: \([\d.]+ m?s\))?(?: \[.*\])?\s*$", "indent", 0.8),
    rule(_T, "playwright", "› ", r"\s*(?:\d+\) )?(?P<t>\[[\w -]+\] › .+?)[ ─]*$", "indent"),
    rule(_T, "javascript", ("✕ ", "✖ ", "✗ ", "× ", "✘ "),
         r"\s*(?:[✕✖✗×✘] |- \[[✖✘]\]: )(?:\[fail\]: |Test |failed: )?(?P<t>(?!failing tests:$|\d+ (?:problems?|tests?|errors?|of)\b)\S.*?)(?: \(?\d[\d.]* ?m?s\)?)?$", "indent", 0.9),
    rule(_T, "bun", "(fail)", rf"\(fail\) (?P<t>.+?){_TIME}$", "before"),
    rule(_T, "karma", "FAILED", r"(?:[\w ]{0,30}(?:Chrome|Firefox|Safari|Edge|JS|jsdom|IE|Electron)[\w .]* \([^)]{1,60}\)(?::)?) (?!Executed|:)(?P<t>\S.*?) FAILED$", "indent"),
)  # fmt: skip

NUMBERED = (
    rule(_T, "nunit", " : ", r"\s*\d{1,4}\) (?:Failed|Error) : (?P<t>.+)$", "indent"),
    rule(_T, "numbered", ") ", r"\s{0,12}\d{1,4}\) (?P<t>(?:Failure|Error):(?: [\w:]+#.*)?|[^\s].{1,500})$", "indent"),
    rule(_T, "rspec", "rspec ", r"\s*rspec (?P<t>(?:'[^']+'|\./\S+|\S+_spec\.rb\S*)(?: # .*)?)$", "line", 0.85),
    rule(_T, "minitest", "#test_", r"(?P<t>[\w:]+#test_[^\[]{1,300}?)(?: \[[^\]]+\])?:$", "indent"),
    rule(_T, "test-unit", ("Failure: ", "Error: "), r"(?:Failure|Error): (?P<t>test[^(:]{0,200}\([\w:]+\)):?", "indent"),
    rule(_T, "cucumber", "cucumber ", r"\s*cucumber (?:-p \w+ )?(?P<t>\S+\.feature:\d+.*)"),
    rule(_T, "pest", "FAILED ", r"\s*FAILED\s+(?P<t>Tests\\.+ > .+)$", "indent"),
)  # fmt: skip

JVM = (
    rule(_T, "maven", "<<< ", r"(?:\[ERROR\] )?\s*(?P<t>(?!(?:\[ERROR\] )?Tests run)[^\s].{1,500}?)\s+(?:-- )?Time elapsed:.{1,40}<<< (?:FAILURE|ERROR)!", "indent"),
    rule(_T, "maven", "<<< ", r"(?:\[ERROR\] )?Tests run:.{1,200}<<< (?:FAILURE|ERROR)!.{0,20} in (?P<t>.+)$", "line", 0.6),
    rule(_T, "maven", "[ERROR]", r"\[ERROR\] {2,8}(?P<t>[A-Za-z_$][\w$]*(?:\.[\w$]+)+(?:->[\w.$]+|[\[({][^:]{0,200})?(?::\d+)?(?:->[\w.$:]+)*)(?: [»:]? ?(?P<m>.*))?$", "line", 0.95),
    rule(_T, "junit-ant", "Testcase: ", r"\s*+(?:\[\w+\] )?\s*Testcase: (?P<t>.+?)(?: took [\d.]+ sec)?:?\s*(?:FAILED|Caused an ERROR)", "indent"),
    rule(_T, "junit-plain", "Testcase: ", r"\s*+(?:\[\w+\] )?\s*Testcase: (?P<t>.+?) took [\d.]+ sec$", "indent"),
    rule(_T, "junit-ant", "FAILED", r"\s*\[\w+\] (?:Test|TEST) (?P<t>[\w.$]+) FAILED", "line", 0.7),
    rule(_T, "gradle", " > ", r"(?P<t>\S(?:(?! > ).){0,600} > .{1,800}) FAILED$", "indent"),
    rule(_T, "scalatest", "*** FAILED ***", r"(?:\[\w+\] )*\s*-? ?(?P<t>\S.*?) \*\*\* FAILED \*\*\*", "indent"),
    rule(_T, "sbt", "failed: ", r"(?:\[\w+\] )*Test (?P<t>[\w.$]+(?:\([^)]*\))?(?:\[[^\]]*\])?) failed: (?P<m>.*)", "indent"),
    rule(_T, "munit", "==> X ", rf"(?:\[\w+\] )*==> X (?P<t>.+?){_TIME}(?: [\w.]+(?:Exception|Error): (?P<m>.*))?$", "indent"),
    rule(_T, "testng", "FAILED: ", r"(?:\[\w+\] )*FAILED: (?P<t>[\w.$]+(?:\(.*\))?)$", "indent"),
    rule(_T, "junit-console", "[X]", r"[\s|'+│├└─-]*+(?P<t>\S.*?) \[X\](?: (?P<m>.*))?$", "line", 0.95),
    rule(_T, "junit-console", "JUnit ", r"\s*JUnit (?:Jupiter|Vintage|Platform Suite):(?P<t>\S.*)$", "indent"),
    rule(_T, "junit-console", "MethodSource [", r"\s*(?P<t>MethodSource \[.+\])", "indent", 0.8),
    rule(_T, "junit4", ") ", r"\d{1,4}\) (?P<t>\w+\([\w.$]+\))$", "indent"),
    rule(_T, "clojure", " in (", r"(?:FAIL|ERROR) in (?P<t>\(.+?\)(?: \(.+\))?)$", "indent"),
)  # fmt: skip

NATIVE = (
    rule(_T, "go", "--- FAIL: ", rf"\s*--- FAIL: (?P<t>\S+){_TIME}", "indent"),
    rule(_T, "go", "=== FAIL: ", rf"=== FAIL: (?P<t>.+?){_TIME}$", "indent"),
    rule("failing_command", "go", "FAIL\t", r"FAIL\t(?P<t>\S+)(?:\s+(?P<m>\[.*))?", "line", 0.9),
    rule(_T, "ginkgo", ("[Fail]", "[FAIL]", "[PANICKED]", "[FAILED]"), r"\s*(?:• )?\[(?:Fail|FAIL|PANICKED!?|FAILED|TIMEDOUT)\]\s+(?P<t>(?!\[\d)\S.+?)$", "indent"),
    rule(_T, "cargo", "... FAILED", r"test (?P<t>.+?)(?: - should panic)? \.\.\. FAILED$", "line"),
    rule(_T, "cargo", " stdout ----", r"---- (?!end|begin|captured)(?P<t>\S.*?) stdout ----$", "indent"),
    rule(_T, "nextest", ("FAIL [", "SIGABRT [", "SIGSEGV [", "TIMEOUT [", "TERMINATING ["),
         r"\s*(?:TRY \d+ )?(?:FAIL|SIGABRT|SIGSEGV|TIMEOUT|TERMINATING) \[[ >\d.ms]+\] (?:\( *\d+/\d+\) )?(?P<t>.+)$"),
    rule(_T, "gtest", "[  FAILED  ]", r".{0,40}?\[  FAILED  \] (?P<t>(?!\d+ test)[\w/.<>:, ]{1,300}?)(?:, where (?P<m>.*?))?(?: \(\d+ ms\))?$", "before"),
    rule(_T, "ctest", "***", r"\s*\d+/\d+ Test +#\d+: (?P<t>\S.*?) \.*(?P<m>[\w ]{0,40}\*\*\*.*)$", "indent"),
    rule(_T, "ctest", (" (Failed)", " (Timeout)", " (SEGFAULT)", "aborted)", " (ILLEGAL)", "(Not Run)"),
         r"\s*\d+ - (?P<t>\S.*?) \((?P<m>Failed|Timeout|SEGFAULT|ILLEGAL|OTHER_FAULT|Child aborted|Subprocess aborted|Not Run|Exit code .*|SIG\w+)\)"),
    rule(_T, "catch2", ": FAILED", r"(?P<t>\S.{0,300}?:\d+: FAILED:?)", "indent"),
    rule(_T, "boost", 'error: in "', r"(?P<t>\S.{0,300}? error: in \"[^\"]+\"): (?P<m>.*)"),
    rule(_T, "doctest", "ERROR: ", r"(?P<t>\S.{0,300}?[:(]\d+\)?: (?:FATAL )?ERROR: .*)", "indent"),
    rule(_T, "qttest", "FAIL!", r"FAIL!  : (?P<t>[^\s(]+\(.*?\))(?: (?P<m>.*))?", "indent"),
    rule(_T, "xctest", "error: ", r"(?:\S+?:\d+: )?error: (?P<t>-\[.+?\]|\w+\.\w+) : (?P<m>.*)"),
    rule(_T, "xctest", "Test Case ", r"Test Case '(?P<t>[^']+)' failed", "line", 0.9),
    rule(_T, "criterion", "[FAIL]", r"\[(?:FAIL|----)\] (?P<t>\S.*?)(?:: \([\d.]+s\))?$", "indent", 0.9),
)  # fmt: skip

OTHERS = (
    rule(_T, "tap", "not ok", r"\s*not ok\b ?(?!.*# (?:TODO|SKIP|todo|skip))(?:\d+ )?(?:- )?(?P<t>.{1,500}?)(?: # time=.*)?$", "indent"),
    rule(_T, "perl", ("Failed test", "Failed subtest"), r"\s*#\s+Failed (?:sub)?test (?P<t>'.+?'|at .+)$", "indent", 0.9),
    rule(_T, "perl", "Wstat", r"(?P<t>\S+\.t)\s+\(Wstat: \d+ .*\)", "indent", 0.9),
    rule(_T, "dotnet", "[FAIL]", r"(?:\[xUnit\.net [\d:.]+\] )?\s*(?P<t>\S.*?) \[FAIL\]$", "indent"),
    rule(_T, "dotnet", " Failed ", r"  Failed (?P<t>[\w.+`<>]+(?:\(.*\))?.{0,200}?) \[[^\]]*\d ?(?:m?s|min)[^\]]*\]$", "indent"),
    rule(_T, "dotnet", "X ", r"\s+X (?P<t>\S+) \[[\d.,<> ]+m?s\]$", "indent"),
    rule(_T, "dotnet", "failed ", r"failed (?P<t>[\w.+]+\.[\w]+(?:\(.*\))?) \([\dms. ]+\)$", "indent"),
    rule(_T, "pester", "[-] ", rf"\s*\[-\] (?P<t>.+?){_TIME}$", "indent"),
    rule(_T, "robot", "| FAIL |", r"(?P<t>\S.*?)\s*\| FAIL \|", "indent"),
    rule(_T, "bazel", ("FAILED", "TIMEOUT", "FAIL: //"), r"(?:FAIL(?:ED)?: )?(?P<t>(?:@[\w.-]*)?//[\w/.+-]*:[\w/.+=-]+)\s+(?:\(see .*|(?:FAILED(?! TO BUILD)|TIMEOUT).*)$", "indent"),
    rule(_T, "lit", " :: ", r"(?:FAIL|XPASS|TIMEOUT|UNRESOLVED): (?P<t>\S+ :: \S+)", "indent"),
    rule(_T, "meson", " FAIL ", r"\s*\d+/\d+ (?P<t>\S.*?)\s{1,40}(?:FAIL|TIMEOUT|ERROR)\s+[\d.]+ ?s(?P<m>.*)$"),
    rule(_T, "dart", "[E]", r"\d+:\d+ \+\d+(?: ~\d+)?(?: -\d+)?: (?P<t>.+?) \[E\]$", "indent"),
    rule(_T, "testthat", "──", r"── (?:Failure|Error|FAILURE|ERROR)(?: \(|: )(?P<t>.+?)\)?:? ─*(?: .*)?$", "indent"),
    rule(_T, "julia", "Test Failed at", r"(?P<t>.*Test Failed at \S+)", "indent"),
    rule(_T, "eunit", "*failed*", r"(?P<t>\S.*?)\s{0,4}\.{0,100}\*failed\*", "indent"),
    rule(_T, "common-test", " failed", r"%%% (?P<t>\S+ ==> .+?): (?:\S*FAILED)", "indent"),
    rule(_T, "swift-testing", "recorded an issue", r"\S+ Test (?P<t>\S.*?) recorded an issue at (?P<m>.*)"),
    rule(_T, "automake", ("FAIL: ", "XPASS: "), r"(?:FAIL|XPASS): (?P<t>[\w./+-]+)$", "line", 0.95),
    rule(_T, "automake", ("FAIL: ", "XPASS: ", "ERROR: "), r"(?:FAIL|XPASS|ERROR): (?P<t>(?=[\w./-]+?(?:[./-]|\d|test))[\w./ -]+(?: \(.*\))?)$", "line", 0.95),
    rule(_T, "qualified", ("FAILED", "FAIL", "ERROR"), r"(?P<t>[A-Za-z_][\w$]*(?:(?:\.|::|#|/)[\w$<>-]+){1,30}(?:[\[(].*[\])])?) (?:FAILED|FAIL|ERROR)!?$", "indent", 0.95),
    rule(_T, "generic", ("FAIL", "fail"), r"\s*(?!.*\.\.\. FAILURE \[ *[\d.:]+ (?:s|min)\]$)(?!(?:\w+ )?(?:[Rr]esults?|[Tt]ests?|[Bb]uild|[Ss]tatus|[Tt]otal|[Ss]ummary|[Oo]verall)\s*:)(?P<t>[\w/:.\[\]<>(), #'\"$-]{3,300}?)(?<![ .])(?:(?=[ .]*\.\.)[ .]++|[ .]*+[:|\t]|[ .]*+(?<= )-)\s*\[?(?:FAIL(?:ED|URE)?|failed)\]?(?: [\[(].*)?!?$", "indent", 0.8),
)  # fmt: skip

TEST_RULES: tuple[FailureRule, ...] = (
    MOZILLA + PYTHON + JAVASCRIPT + JVM + NATIVE + OTHERS + NUMBERED
)
