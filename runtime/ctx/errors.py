"""The errors of encoding and decoding.

CortexError
├── CtxSourceError   the source is not of its declared kind
├── CtxFormatError   the package is damaged, or not one
└── CtxBoundError    a bound that protects the reader was reached
"""

from cortex.bus import CortexError


class CtxSourceError(CortexError):
    """A source cannot be read as what it is said to be."""

    def __init__(self, kind: str, problem: str, line: int = 0, file: str = "") -> None:
        super().__init__(kind, problem, line, file)
        self.kind, self.problem = kind, problem
        self.line = line  # 1-based; 0 where no line is known
        self.file = file  # "" where the text has no name

    def __str__(self) -> str:
        where = _where(self.file, self.line)
        return f"{where}not {self.kind}: {self.problem}; correct it, or name another kind"


class CtxFormatError(CortexError):
    """The text does not follow the format of packages."""

    def __init__(
        self, problem: str, line: int = 0, file: str = "", is_package: bool = True
    ) -> None:
        super().__init__(problem, line, file, is_package)
        self.problem = problem
        self.line = line  # of the body, 1-based; 0 where no line is known
        self.file = file  # "" where the text has no name
        self.is_package = is_package

    def __str__(self) -> str:
        where = _where(self.file, self.line)
        if not self.is_package:
            return f"{where}not a package: {self.problem}; give what `cortex ctx encode` printed"
        return f"{where}{self.problem}: the package is damaged, encode its source again"


class CtxBoundError(CortexError):
    """A package nests deeper, or grows larger, than a reader allows."""

    def __init__(self, what: str, found: int, limit: int) -> None:
        super().__init__(what, found, limit)
        self.what, self.found, self.limit = what, found, limit

    def __str__(self) -> str:
        return (
            f"{self.what} is {self.found:,}, over the bound of {self.limit:,}: "
            "split the source, or raise the bound if it is trusted"
        )


def _where(file: str, line: int) -> str:
    parts = [file] if file else []
    parts += [f"line {line}"] if line else []
    return f"{', '.join(parts)}: " if parts else ""
