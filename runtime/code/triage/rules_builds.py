"""How compilers, linters, package managers, operating systems and CI services report a failure."""

# ruff: noqa: E501  # a table, one rule a line

from typing import Final

from .rules import FailureRule, rule

_C: Final = "compile_error"
_L: Final = "lint"
_E: Final = "error"
_PATH = r"(?:[A-Za-z]:)?[^\s:()\[\]\"'<>|]{1,300}"

CRASHES = (
    rule("crash", "sanitizer", "Sanitizer", r".{0,40}?(?P<t>(?:ERROR|WARNING|SUMMARY): \w+Sanitizer:? .*)", "indent"),
    rule("crash", "ubsan", "runtime error: ", r"(?P<t>\S+:\d+:\d+: runtime error: .*)", "short"),
    rule("crash", "go", ("panic: ", "fatal error: "), r"(?P<t>(?:panic: (?!test timed out)|fatal error: (?=all goroutines|concurrent|unexpected signal|stack)).*)", "section"),
    rule("timeout", "go", "panic: test timed out", r"(?P<t>panic: test timed out.*)", "section"),
    rule("crash", "rust", "panicked at", r"(?P<t>thread '[^']*' (?:\(\d+\) )?panicked at .*)", "indent", 0.9),
    rule("crash", "jvm", ("java.lang.OutOfMemoryError", "fatal error has been detected"), r"(?P<t>.*(?:OutOfMemoryError|fatal error has been detected by).*)", "indent"),
    rule("crash", "node", ("heap out of memory", "FATAL ERROR: "), r"(?P<t>.*(?:FATAL ERROR: .*|heap out of memory.*))", "indent"),
    rule("crash", "oom", ("Out of memory", "OOMKilled", "oom-kill", "Cannot allocate memory", "std::bad_alloc", "MemoryError", "No space left on device"),
         r"(?P<t>.*(?:Out of memory|OOMKilled|oom-kill|Cannot allocate memory|std::bad_alloc|\bMemoryError\b|No space left on device).*)"),
    rule("crash", "kernel", ("Kernel panic", "Fatal Python error", "terminate called", "stack smashing", "double free", "corrupted size"),
         r"(?P<t>.*(?:Kernel panic|Fatal Python error|terminate called|stack smashing|double free|corrupted size).*)", "indent"),
    rule("crash", "signal", ("Segmentation fault", "Aborted", "Bus error", "Illegal instruction", "SIGSEGV", "SIGABRT", "SIGKILL", "segmentation violation"),
         r"(?P<t>.*(?:Segmentation fault|\bAborted\b(?: \(core|$)|Bus error|Illegal instruction|SIGSEGV|SIGABRT|SIGKILL|segmentation violation).*)", "line", 0.9),
    rule("crash", "assert", ("Assertion `", "Assertion failed"), r"(?P<t>.*(?:Assertion `.*' failed|Assertion failed[:( ].*).*)", "indent", 0.85),
    rule("crash", "killed", "Killed", r"(?P<t>(?:.*\s)?Killed(?:\s+.*)?)$", "line", 0.7),
    rule("timeout", "ci", ("operation was cancel", "maximum execution time", "execution took longer", "No output has been received",
                           "Too long with no output", "Task timeout after", "job exceeded", "max-run-time exceeded", "maximum time limit", "build timed out", "Build timed out"),
         r"(?P<t>.*(?:operation was cancel|maximum execution time|execution took longer|No output has been received|Too long with no output|Task timeout after|job exceeded|max-run-time exceeded|maximum time limit|[bB]uild timed out).*)", "line", 0.95),
    rule("timeout", "timeout", ("timed out", "Timeout >", "TimeoutError", "Timed out"),
         r"(?P<t>.*(?:[Tt]imed out (?:after|waiting|in \d)|Timeout >\d|TimeoutError\b).*)", "indent", 0.75),
)  # fmt: skip

COMPILERS = (
    rule(_C, "tsc", ("error TS", "ERROR TS"), rf"(?P<t>{_PATH}(?:\(\d+,\d+\)|:\d+:\d+)(?::| -) error TS\d+: .*)", "short"),
    rule(_C, "msbuild", "error ", rf"\s*(?:\d+>)?(?P<t>(?:{_PATH}(?:\([\d,-]+\))?|MSBUILD|LINK|CSC) ?: (?:fatal )?error (?:[A-Z]{{1,8}}\d+)?: .*)", "line"),
    rule(_C, "rustc", "error[", r"\s*(?P<t>error\[E?[\w-]+\]: .*)", "short"),
    rule(_C, "javac", "[ERROR]", rf"\[ERROR\] (?P<t>{_PATH}(?::\[\d+(?:,\d+)?\]|:\d+(?::\d+)?:) .*)", "short"),
    rule(_C, "kotlin", "e: ", r"(?P<t>e: (?:file://)?\S+(?:: \(\d+, \d+\)|:\d+:\d+):? .*)", "short"),
    rule(_C, "scalac", "[error]", rf"\[error\] (?:-- )?(?P<t>{_PATH}:\d+(?::\d+)?: .*)", "short"),
    rule(_C, "cc", "error", rf"(?:\[\w+\] )?\s*(?:In file included from )?(?P<t>{_PATH}:\d+:(?:\d+:)? (?:fatal |internal compiler )?error: .*)", "short"),
    rule(_C, "linker", ("undefined reference", "undefined symbol", "Undefined symbols", "duplicate symbol", "multiple definition", "cannot find -l", "unresolved external"),
         r"(?P<t>.*(?:undefined reference to|[Uu]ndefined symbols?|duplicate symbol|multiple definition of|cannot find -l|unresolved external).*)", "short", 0.9),
    rule(_C, "linker", ("ld returned", "linker command failed"), r"(?P<t>.*(?:ld returned \d|linker command failed).*)", "line", 0.6),
    rule(_C, "go", ".go:", r"(?:vet: )?(?P<t>(?:\./|\.\./)?[\w./@-]+\.go:\d+:\d+: (?!.*\(\w+\)$).+)", "line", 0.9),
    rule(_C, "cmake", "CMake Error", r"(?P<t>CMake Error.*)", "indent"),
    rule(_C, "configure", "configure: error", r"(?P<t>configure: error: .*)"),
    rule(_C, "python", ("ModuleNotFoundError: ", "ImportError: "), r"(?:E +)?(?P<t>(?:ModuleNotFoundError|ImportError): .*)", "line", 0.85),
    rule(_C, "webpack", ("ERROR in", "Module not found", "Cannot find module", "ModuleNotFoundError", "Module build failed"),
         r"(?P<t>.*(?:^ERROR in |Module not found: |Cannot find module |ModuleNotFoundError: |Module build failed).*)", "indent", 0.85),
    rule(_C, "python", ("SyntaxError: ", "IndentationError: "), r"(?:E +)?(?P<t>(?:SyntaxError|IndentationError): .*)", "line", 0.85),
)  # fmt: skip

LINTERS = (
    rule(_L, "eslint", " error ", r"\s+(?P<t>\d+:\d+\s+error\s+.+)", "line", 0.85),
    rule(_L, "python", ".py:", rf"(?P<t>{_PATH}\.pyi?:\d+(?::\d+)?: (?:error: |[A-Z]{{1,4}}\d{{2,5}}\b).*)", "line", 0.85),
    rule(_L, "rubocop", ".rb:", r"(?P<t>\S+\.\w+:\d+:\d+: [EFCW]: .*)", "indent", 0.85),
    rule(_L, "golangci", ".go:", r"(?P<t>\S+\.go:\d+(?::\d+)?: .+ \(\w+\))$", "short", 0.85),
    rule(_L, "style", ("would reformat", "Would reformat", "Diff in ", "incorrectly sorted", "files need formatting", "Code style issues", "hook id: "),
         r"(?P<t>.*(?:[wW]ould reformat|^Diff in |incorrectly sorted|need formatting|Code style issues|hook id: ).*)", "line", 0.8),
    rule(_L, "shellcheck", "In ", r"(?P<t>In \S+ line \d+:)", "indent", 0.8),
    rule(_L, "markdownlint", "MD0", r"(?P<t>\S+\.md:\d+(?::\d+)? .*MD\d{3}.*)", "line", 0.85),
    rule(_L, "sphinx", ("WARNING: ", "ERROR: "), rf"(?P<t>{_PATH}\.(?:rst|md|py)[\w:. ]*:\d+: (?:WARNING|ERROR): .*)", "line", 0.7),
)  # fmt: skip

COMMANDS = (
    rule("failing_command", "travis", "The command ", r"(?P<t>The command \"?.+?\"? (?:exited with [1-9]\d*|failed(?: and exited with .*)?)\.?)", "line", 0.8),
    rule("failing_command", "docker", ("returned a non-zero code", "did not complete successfully", "executor failed running"),
         r"(?P<t>.*(?:returned a non-zero code|did not complete successfully|executor failed running).*)", "line", 0.7),
    rule("failing_command", "make", "*** ", r"(?P<t>(?:\S*make|ninja|gmake|nmake)(?:\[\d+\])?: \*\*\* .*)", "line", 0.7),
    rule("failing_command", "ninja", "FAILED: ", r"(?P<t>FAILED: (?:\[code=\d+\] )?\S+[./]\S+.*)", "short", 0.7),
    rule("failing_command", "gradle", "Execution failed for task", r"(?P<t>.*Execution failed for task .*)", "indent", 0.75),
    rule("failing_command", "maven", "Failed to execute goal", r"(?:\[ERROR\] )?(?P<t>Failed to execute goal .*)", "line", 0.7),
    rule("failing_command", "cargo", "error: ", r"(?P<t>error: (?:test failed, to rerun|could not compile|build failed|\d+ targets? failed|process didn't exit).*)", "line", 0.65),
    rule("failing_command", "npm", ("npm ERR! ", "npm error "), r"(?P<t>npm (?:ERR!|error) (?:code |command |Exit status|.*(?:Failed at|Test failed|ERESOLVE|ENOENT|E40\d|missing|Missing|failed)).*)", "line", 0.6),
    rule("failing_command", "yarn", ("Command failed", "error Command"), r"(?P<t>.*(?:error Command failed|Command failed(?: with exit code|:)).*)", "line", 0.6),
    rule("failing_command", "pnpm", "ERR_PNPM", r"(?P<t>.*ERR_PNPM.*)", "line", 0.6),
    rule("failing_command", "lerna", ("exited ", "ELIFECYCLE"), r"(?P<t>.*(?:exited [1-9]\d* in '|ELIFECYCLE.*).*)", "line", 0.6),
    rule("failing_command", "tox", ("InvocationError", "commands failed", "exited with code"), r"(?P<t>.*(?:InvocationError for command|commands failed|(?:exited|exit) with code [1-9]).*)", "line", 0.6),
    rule("error", "ansible", "FAILED! =>", r"(?P<t>fatal: \[.+?\]: (?:FAILED!|UNREACHABLE!) => .*)", "indent", 0.9),
    rule("failing_command", "github", "##[error]", r"(?P<t>##\[error\](?:Process completed with exit code|Bash exited|PowerShell exited|The process '|Cmd\.exe exited).*)", "line", 0.5),
    rule("failing_command", "ci", ("exit code", "xit Code", "exit status", "Exited with", "exited with", "return code", "Return code", "status code", "non-zero"),
         r"(?P<t>.*(?:(?:[Ee]xit(?:ed)?(?: with)?(?: an?)? (?:[Cc]ode|[Ss]tatus)(?: exit status)?|[Rr]eturn(?:ed)? code|exited with(?: status)?)\s*(?:was |is |of )?[:=]?\s*-?[1-9]\d*|non-zero (?:exit|status|return)).*)", "line", 0.5),
    rule("failing_command", "build", ("BUILD FAILED", "BUILD FAILURE", "Build FAILED", "ninja: build stopped", "FAILURE: Build failed"), r"(?P<t>.*(?:BUILD FAIL|Build FAILED|build stopped|Build failed).*)", "indent", 0.4),
)  # fmt: skip

ERRORS = (
    rule(_E, "github", "##[error]", r"##\[error\](?P<t>.+)", "line", 0.75),
    rule(_E, "github", "::error", r"(?P<t>::error[ :].*)", "line", 0.7),
    rule(_E, "taskcluster", ("[taskcluster:error]", "[taskcluster 2"), r"(?P<t>\[taskcluster[^\]]*\] ?.*(?:[Ee]rror|[Uu]nsuccessful|fail|Exit).*)", "line", 0.8),
    rule(_E, "python", "Traceback (most recent", r".{0,80}?(?P<t>Traceback \(most recent call last\):)", "trace", 0.7),
    rule(_E, "perl", (".t line ", ".pm line ", ".pl line "), r"(?P<t>(?![#\s]).{1,600} at \S+\.(?:t|pm|pl) line \d+\.?)$", "line", 0.9),
    rule(_E, "exception", ("Error", "Exception"),
         r"(?:\[\w+\] )?\s{0,8}(?:E +|Uncaught |Unhandled |Unhandled exception\.? |Exception in thread \".*?\" |PHP Fatal error: +(?:Uncaught )?|(?:Caused by|caused by): )?(?P<t>(?:[A-Za-z_$][\w$]*(?:\.|::|\\))*[A-Z][\w$]*(?:Error|Exception|Failure|Fault)(?: \[\w+\])?(?::|$).*)", "indent", 0.7),
    rule(_E, "tool", ("rror", "ERROR", "atal", "FATAL", "RITICAL", "ERR!"),
         r"(?P<t>\W{0,12}(?:\d[\d. ]{0,12} )?(?:\w[\w.@/ -]{0,40}[:|] ?)?(?:fatal error|fatal|FATAL|Fatal|error|ERROR|Error|CRITICAL|ERR!)(?:\]\s*\S|:+\s*\S| - ?\S|!\s*\S|\s{1,4}[A-Za-z'\"\[(]).*)", "indent", 0.7),
    rule(_E, "shell", ("command not found", "No such file or directory", "Permission denied", "not recognized as", "syntax error"),
         r"(?P<t>.*(?:command not found|No such file or directory|Permission denied|not recognized as|syntax error).*)", "line", 0.6),
)  # fmt: skip

BUILD_RULES: tuple[FailureRule, ...] = CRASHES + COMPILERS + LINTERS + COMMANDS + ERRORS
