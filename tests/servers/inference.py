"""A real inference server over tiny random weights, where one is installed."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..ports import free_port

PYTHON = "CORTEX_INFERENCE"  # names a Python that has one of the engines below
PATIENCE_S = 240.0  # importing torch on a busy machine
SCRIPTS = Path(__file__).parents[1] / "fixtures" / "inference"


class Engine(NamedTuple):
    """A server from the package registry."""

    name: str
    packages: tuple[str, ...]
    weights: str  # script that makes them
    tells_usage: bool  # in a stream


ENGINES = (
    Engine("transformers", ("torch", "transformers", "uvicorn"), "tiny_hf.py", True),
    Engine("llama_cpp", ("llama_cpp", "uvicorn", "gguf"), "tiny_gguf.py", False),
)


class Inference(NamedTuple):
    """A server that runs."""

    engine: Engine
    base_url: str
    model: str
    pid: int

    def cpu_ticks(self) -> int:
        """Time that it has computed so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])


def engines() -> list[tuple[str, Engine]]:
    """What could run here: the Python, and what is installed for it."""
    python = os.environ.get(PYTHON, sys.executable)
    return [(python, engine) for engine in ENGINES if _has(python, engine.packages)]


@contextmanager
def served(python: str, engine: Engine, folder: Path) -> Iterator[Inference]:
    """Make weights in *folder*, serve them, and end the server."""
    weights = folder / ("tiny" if engine.name == "transformers" else "tiny.gguf")
    (folder / "hub").mkdir()  # transformers lists it
    environment = {
        **os.environ, "HF_HOME": str(folder), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    script = str(SCRIPTS / engine.weights)
    subprocess.run([python, script, str(weights)], check=True, env=environment)
    port = free_port()
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            _command(python, engine, weights, port), env=environment, stdout=log, stderr=log
        )
        try:
            _await(process, f"http://127.0.0.1:{port}/{_READY[engine.name]}", folder)
            model = str(weights) if engine.name == "transformers" else "tiny"
            yield Inference(engine, f"http://127.0.0.1:{port}/v1", model, process.pid)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


_READY = {"transformers": "health", "llama_cpp": "v1/models"}


def _command(python: str, engine: Engine, weights: Path, port: int) -> list[str]:
    where = ["--host", "127.0.0.1", "--port", str(port)]
    if engine.name == "transformers":
        serve = str(Path(python).parent / "transformers")
        return [serve, "serve", str(weights), *where, "--device", "cpu"]
    options = ["--n_ctx", "2048", "--n_threads", "1", "--model_alias", "tiny"]
    options += ["--interrupt_requests", "false"]  # else a new request ends the one before
    return [python, "-m", "llama_cpp.server", "--model", str(weights), *where, *options]


def _has(python: str, packages: tuple[str, ...]) -> bool:
    asked = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
    return subprocess.run([python, "-c", asked, *packages], check=False).returncode == 0


def _await(process: subprocess.Popen[bytes], url: str, folder: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        with suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.1)
    raise AssertionError(f"the server did not come up:\n{(folder / 'server.log').read_text()}")
