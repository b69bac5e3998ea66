"""The objects that a runtime passes to the constructors of its components, by name."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cortex.bus import Client, Log, Recorded, Vocabulary, decode
from cortex.runtime.cache import Cache
from cortex.runtime.log import Blobs, EventLog, MemoryBlobs
from cortex.runtime.secrets import MaskedBlobs
from cortex.runtime.subjects import PersonalLog, SubjectKeys

from .home.config import Config
from .home.home import Home
from .home.masking import mask_for, open_blobs


def ports_in_runtime(
    home: Home | None,
    config: Config,
    blobs: Blobs,
    log: Log,
    vocabulary: Vocabulary,
    client: Client,
    cache: Cache,
    settings: Mapping[str, Any],
    user_preferences: Mapping[str, str],
) -> dict[str, Any]:
    """The ports of a component that runs beside the hub.

    `home` may be None; `log` is for reading, `history(stream)` returns the events of a stream,
    `cache` is that of the home, shared by all components of this process;
    `ask(query)` an answer, `publish(*events)` publishes events outside of handlers;
    `user_preferences` are those of the home in the user's data folder. A `Runtime` adds itself, as
    `runtime`, for components that start others.
    """
    return {
        "home": home,
        "config": config,
        "blobs": blobs,
        "vocabulary": vocabulary,
        "settings": dict(settings),
        "log": log,
        "history": client.read_stream,
        "cache": cache,
        "ask": client.ask,
        "publish": client.publish,
        "user_preferences": user_preferences,
    }


def preferences_of_user(home: Home | None) -> Mapping[str, str]:
    """The preferences in the config.toml of the user's data folder, for work on another *home*."""
    user = Home.of_user()
    return Config.load(user).preferences if home is not None and home != user else {}


def ports_in_child(
    home: str, config: Config, settings: Mapping[str, Any], vocabulary: Vocabulary
) -> dict[str, Any]:
    """The ports of a component in a spawned process: those that need no hub.

    *config* is the trusted configuration of the parent: a pull may have changed the file since.
    """
    found = Home(Path(home)) if home else None
    mask = mask_for(config, found)
    return {
        "home": found,
        "config": config,
        "blobs": open_blobs(found, config, mask) if found else MaskedBlobs(MemoryBlobs(), mask),
        "vocabulary": vocabulary,
        "settings": dict(settings),
        "history": _history_of(found),
        "cache": Cache(found.path if found else None, config.cache),
        "mask": mask,
    }


def _history_of(home: Home | None) -> Callable[[str], Iterator[Recorded]]:
    """The events of a stream, read directly from the log file."""
    opened: list[PersonalLog] = []  # opened at first use, until the process ends

    def history(stream: str) -> Iterator[Recorded]:
        if home is None:
            return
        if not opened:
            log = EventLog.open(home.log_path, readonly=True)
            opened.append(PersonalLog(log, SubjectKeys.of_home(home.path)))
        after = 0
        while page := opened[0].read_stream(stream, after, PAGE):
            for data in page:
                record = decode(data)
                after = record.version
                yield record

    return history


PAGE = 256  # events per read
