"""What a command ends with says what can be done about it."""

import importlib

import pytest

from cortex.bus import CortexError, LogError
from cortex.runtime.kernel import ConfigError, HomeError, ManifestError, NotReadyError
from cortex.runtime.log import BlobCorruptError, BlobDiskError, BlobMissingError, LogHeldError
from cortex.runtime.projections import ProjectionDamagedError, ProjectionDiskError

exit_code_of = importlib.import_module("cortex.runtime.cli.exits").exit_code_of


@pytest.mark.parametrize(
    ("error", "code"),
    [
        *(
            (error, 4)
            for error in (
                LogError("x"),
                LogHeldError("log.db", 7),
                BlobMissingError("ab"),
                BlobCorruptError("ab", "x"),
                BlobDiskError("blobs", "x"),
                HomeError("home", "x"),
                ConfigError("config.toml", "x"),
                ManifestError("a:B", "x"),
                NotReadyError("B", "x"),
                ProjectionDamagedError("projections.db", "x"),
                ProjectionDiskError("projections.db", "x"),
            )
        ),
        (CortexError("x"), 1),
        (OSError("x"), 1),
        (UnicodeEncodeError("utf-8", "\udce9", 0, 1, "surrogates not allowed"), 2),
        (UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range"), 70),
        (KeyError("x"), 70),
    ],
)
def test_every_error_has_its_exit_code(error: Exception, code: int) -> None:
    assert exit_code_of(error) == code
