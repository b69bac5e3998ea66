"""structlog is imported with the first log line, and is set up before anybody uses it."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.wheel


def ran(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )


def test_a_runtime_that_has_nothing_to_say_does_not_import_structlog() -> None:
    done = ran(
        "import sys\n"
        "from cortex.runtime.kernel import Runtime\n"
        "with Runtime(components=[]): pass\n"
        "print('structlog' in sys.modules)"
    )

    assert done.stdout == "False\n"


@pytest.mark.parametrize("who", ["Logger('cortex.x')", "structlog.get_logger()"])
def test_a_line_goes_to_standard_error_whoever_imports_structlog_after_the_start(who: str) -> None:
    done = ran(
        "from cortex.bus import Logger\n"
        "from cortex.runtime.kernel import Runtime\n"
        "with Runtime(components=[]):\n"
        f"    {'import structlog' if 'structlog' in who else 'pass'}\n"
        f"    {who}.warning('noticed', token='cortex_' + 43 * 'a')"
    )

    assert done.stdout == ""
    assert "noticed" in done.stderr
    assert 43 * "a" not in done.stderr  # as a secret's shape is hidden


def test_what_a_program_has_configured_stays() -> None:
    done = ran(
        "from cortex.bus import Logger\n"
        "from cortex.runtime.kernel import Runtime\n"
        "with Runtime(components=[]):\n"
        "    import structlog\n"
        "    structlog.configure(processors=[structlog.processors.JSONRenderer()])\n"
        "    Logger('cortex.x').warning('noticed')"
    )

    assert done.stderr == '{"event": "noticed"}\n'
