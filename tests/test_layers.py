"""Imports point down, and between rooms of one layer they do not run in circles."""

import ast
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from cortex.bus.events import VOCABULARY

LAYERS = ["bus", "runtime", "actors", "plugins"]  # lowest first
# What the bus records by itself: of its log, of its clients, and of what it grants them.
OF_THE_BUS = {"log", "client", "grant"}
FOLDERS = {layer: Path(str(files(f"cortex.{layer}"))) for layer in LAYERS}


def modules() -> Iterator[tuple[str, Path, bool]]:
    """Dotted name below cortex, file, and whether it is a front door."""
    for layer, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = [layer, *path.relative_to(folder).with_suffix("").parts]
            door = parts[-1] == "__init__"
            yield ".".join(parts[:-1] if door else parts), path, door


MODULES = {name: (path, door) for name, path, door in modules()}
ROOMS = {name for name, (_, door) in MODULES.items() if door}


def imports_of(name: str) -> Iterator[tuple[str, bool, int]]:
    """What the module *name* imports below cortex: dotted name, whether relatively, the line."""
    path, door = MODULES[name]
    package = name if door else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "cortex":
                    yield alias.name.removeprefix("cortex."), False, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            target = ".".join([*base, *(node.module or "").split(".")]).rstrip(".")
            for alias in node.names:
                found = f"{target}.{alias.name}"
                yield found if found in MODULES else target, True, node.lineno
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "cortex":
            target = (node.module or "").removeprefix("cortex").removeprefix(".")
            for alias in node.names:
                found = f"{target}.{alias.name}".removeprefix(".")
                yield found if found in ROOMS else target, False, node.lineno


def room_of(name: str) -> str:
    """The room that a module stands in; a layer's own modules stand in the layer."""
    while name not in ROOMS:
        name = name.rpartition(".")[0]
    return name


def runtime_room(name: str) -> str:
    """The room of runtime/ that a module belongs to, whatever is nested in it."""
    return ".".join(name.split(".")[:2])


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name: str) -> None:
    own = LAYERS.index(name.split(".")[0])

    for target, _, line in imports_of(name):
        layer = target.split(".")[0]
        assert LAYERS.index(layer) <= own, f"{name}:{line} imports {target}, which is above it"


@pytest.mark.parametrize("name", MODULES)
def test_other_layers_and_rooms_are_entered_by_the_front_door(name: str) -> None:
    for target, relative, line in imports_of(name):
        where = f"{name}:{line}"
        if relative:
            assert target.split(".")[0] == name.split(".")[0], f"{where} climbs out of its layer"
            if target.startswith("runtime."):
                assert runtime_room(target) == runtime_room(name), f"{where} climbs out of its room"
        else:
            assert target in ROOMS, f"{where} reaches behind the front door of {target}"


def test_nothing_of_the_program_is_imported_by_its_name_in_a_checkout() -> None:
    for name, (path, _) in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            found = (
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            )
            if isinstance(node, ast.Import):
                found = [alias.name for alias in node.names]
            # `import runtime` would be a second copy of the code.
            assert not {target.split(".")[0] for target in found} & set(LAYERS), name


def test_rooms_of_the_runtime_do_not_import_each_other_in_circles() -> None:
    edges: dict[str, set[str]] = {}
    for name in MODULES:
        if name.startswith("runtime."):
            targets = {runtime_room(t) for t, _, _ in imports_of(name) if t.startswith("runtime.")}
            edges.setdefault(runtime_room(name), set()).update(targets - {runtime_room(name)})

    assert circles(edges) == []


def test_rooms_of_the_actors_do_not_import_each_other_in_circles() -> None:
    edges: dict[str, set[str]] = {}
    for name in MODULES:
        if name.startswith("actors."):
            room = room_of(name)
            targets = {room_of(t) for t, _, _ in imports_of(name) if t.startswith("actors.")}
            edges.setdefault(room, set()).update(targets - {room})

    assert circles(edges) == []


# A room that holds others has files below them and files above them. So each of its files is
# looked at by itself, and a room that holds no other as one: then no circle has to be allowed.
AROUND = {room.rpartition(".")[0] for room in ROOMS} - {""}


def place_of(name: str) -> str:
    """The room of a module; of one in a room that others are in, the module itself."""
    room = room_of(name)
    if room not in AROUND:
        return room
    return f"{name}/" if name == room else name


def test_rooms_in_a_room_do_not_import_each_other_in_circles() -> None:
    edges: dict[str, set[str]] = {}
    for name in MODULES:
        place = place_of(name)
        targets = {place_of(target) for target, _, _ in imports_of(name) if target in MODULES}
        edges.setdefault(place, set()).update(targets - {place})

    assert [each for each in circles(edges) if each in ROOMS] == []


@pytest.mark.parametrize(
    "name", [n for n in MODULES if n.startswith("bus") and not n.startswith("bus.events")]
)
def test_the_bus_knows_no_event_of_whoever_uses_it(name: str) -> None:
    classes = {cls.__name__ for cls in VOCABULARY if family(cls.topic_name()) not in OF_THE_BUS}
    topics = {topic for topic in VOCABULARY.classes() if family(topic) not in OF_THE_BUS}

    for node in ast.walk(ast.parse(MODULES[name][0].read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and "events" in (node.module or "").split("."):
            found = {alias.name for alias in node.names} & classes
            assert not found, f"{name}:{node.lineno} imports {found}: that is for the WorkPolicy"
        elif isinstance(node, ast.Constant):
            said = f"{name}:{node.lineno} names {node.value!r}: that is for the WorkPolicy"
            assert node.value not in topics, said


def test_the_vocabulary_stands_on_modules_that_know_no_event() -> None:
    reached, waiting = set[str](), [n for n in MODULES if n.startswith("bus.events")]
    while waiting:
        found = {target for target, _, _ in imports_of(waiting.pop())} - reached
        reached |= found
        waiting += found

    below = {name for name in reached if not name.startswith("bus.events")}
    assert below == {"bus.errors", "bus.event", "bus.limits", "bus.placeholders", "bus.vocabulary"}


def family(topic: str) -> str:
    """What the events of *topic* are about."""
    return topic.partition(".")[0]


def circles(edges: dict[str, set[str]]) -> list[str]:
    """Rooms that can be reached from themselves."""
    found = []
    for room in sorted(edges):
        reached, waiting = set[str](), list(edges[room])
        while waiting:
            each = waiting.pop()
            if each not in reached:
                reached.add(each)
                waiting.extend(edges.get(each, ()))
        if room in reached:
            found.append(room)
    return found
