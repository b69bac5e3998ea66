"""A chain as one HTML page that needs no script and no network: the graph as SVG. Pure.

Nodes stand from left to right by their time, each in the first row that has room; equal chains give
equal bytes.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Final

from cortex.bus.events import Kind

from .chains import Chain
from .nodes import Node

COLOURS: Final[dict[Kind, str]] = {
    "decision": "#3b6fb6",
    "correction": "#b6483b",
    "preference": "#a8761a",
    "observation": "#4d7a7a",
    "outcome": "#3f8a4d",
}
NOTHING: Final[Mapping[str, str]] = {}
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 230, 76, 330, 112, 24
LANE: Final = 18  # pixels below a row of nodes, for edges that pass others
LINE_CHARS, LINES = 34, 3
STYLE: Final = """\
body { font: 14px system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
h1 { font-size: 1.2em } .gone { opacity: .45 } text { font: 11px system-ui, sans-serif }
.edge { fill: none; stroke: #888; stroke-width: 1.4 } .contradicts { stroke: #b6483b }
.supersedes { stroke-dasharray: 5 3 } .said { fill: #555; font-size: 10px }
table { border-collapse: collapse } td, th { padding: .2em .8em .2em 0; text-align: left }
"""


def graph_page(chain: Chain, title: str, overruled: Mapping[str, str] = NOTHING) -> str:
    """The page of *chain*; *overruled* says by id of a node which directive overrules it."""
    places = _places(chain)
    width = MARGIN * 2 + ACROSS * (max((x for x, _ in places.values()), default=0) + 1)
    height = MARGIN * 2 + DOWN * (max((y for _, y in places.values()), default=0) + 1)
    edges = "\n".join(_edge(chain, places, at) for at in range(len(chain.edges)))
    nodes = "\n".join(_node(chain, node, places[node.id]) for node in chain.nodes)
    rows = "\n".join(_row(chain, node, overruled.get(node.id, "")) for node in chain.nodes)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<style>{STYLE}</style></head><body>
<h1>{escape(title)}</h1>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">
<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"
orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#888"/></marker></defs>
{edges}
{nodes}
</svg>
<table><tr><th>id</th><th>since</th><th>kind</th><th>scope</th><th>belief</th><th>memory</th></tr>
{rows}
</table></body></html>
"""


def _places(chain: Chain) -> dict[str, tuple[int, int]]:
    """Column and row of each node: a node stands right of all older ones that it is joined to."""
    joined: dict[str, list[str]] = {}
    for edge in chain.edges:
        joined.setdefault(edge.node_id, []).append(edge.to)
        joined.setdefault(edge.to, []).append(edge.node_id)
    places: dict[str, tuple[int, int]] = {}
    rows: dict[int, int] = {}
    for node in chain.nodes:
        before = [places[each][0] for each in joined.get(node.id, ()) if each in places]
        column = max(before, default=-1) + 1
        places[node.id] = column, rows.get(column, 0)
        rows[column] = rows.get(column, 0) + 1
    return places


def _edge(chain: Chain, places: dict[str, tuple[int, int]], at: int) -> str:
    edge = chain.edges[at]
    (x1, y1), (x2, y2) = _centre(places[edge.node_id]), _centre(places[edge.to])
    if abs(x2 - x1) > ACROSS:
        return _far_edge(edge.edge, (x1, y1), (x2, y2))
    half = WIDTH // 2
    if x1 > x2:
        x1, x2 = x1 - half, x2 + half
    elif x1 < x2:
        x1, x2 = x1 + half, x2 - half
    bend = (x1 + x2) // 2
    at_text = f'x="{bend}" y="{(y1 + y2) // 2 - 5}"'
    said = f'<text class="said" text-anchor="middle" {at_text}>{edge.edge}</text>'
    path = f"M{x1} {y1} C{bend} {y1} {bend} {y2} {x2} {y2}"
    return f'<path class="edge {edge.edge}" d="{path}" marker-end="url(#end)"/>{said}'


def _far_edge(name: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    """An edge past other nodes: below the row of its end, where it hides behind none of them."""
    ahead = 1 if end[0] > start[0] else -1
    x, y = start[0] + ahead * WIDTH // 2, start[1]
    to, foot = end[0], end[1] + HEIGHT // 2
    lane = foot + LANE
    down = f"M{x} {y} C{x + ahead * 50} {y} {x + ahead * 50} {lane} {x + ahead * 80} {lane}"
    path = f"{down} L{to - ahead * 20} {lane} Q{to} {lane} {to} {foot}"
    said = f'<text class="said" x="{to + 5}" y="{lane - 5}">{name}</text>'
    return f'<path class="edge {name}" d="{path}" marker-end="url(#end)"/>{said}'


def _centre(place: tuple[int, int]) -> tuple[int, int]:
    column, row = place
    return MARGIN + column * ACROSS + WIDTH // 2, MARGIN + row * DOWN + HEIGHT // 2


def _node(chain: Chain, node: Node, place: tuple[int, int]) -> str:
    x, y = MARGIN + place[0] * ACROSS, MARGIN + place[1] * DOWN
    state = chain.states[node.id]
    lines = "".join(
        f'<text x="{x + 8}" y="{y + 32 + n * 14}">{escape(line)}</text>'
        for n, line in enumerate(_lines(node.content))
    )
    return (
        f'<g class="{"" if state.current else "gone"}"><title>{escape(node.content)}</title>'
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff" '
        f'stroke="{COLOURS[node.kind]}" stroke-width="2"/>'
        f'<text x="{x + 8}" y="{y + 16}" fill="{COLOURS[node.kind]}">{node.kind} '
        f"{escape(node.id[:12])}</text>{lines}</g>"
    )


def _lines(text: str) -> list[str]:
    lines, line = list[str](), ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > LINE_CHARS:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()[: LINE_CHARS * 2]
    lines.append(line)
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], f"{lines[LINES - 1][: LINE_CHARS - 1]}…"]
    return lines


def _row(chain: Chain, node: Node, overruled: str) -> str:
    day = datetime.fromtimestamp(node.since_ns / 1e9, UTC).date().isoformat()
    state = chain.states[node.id]
    belief = f"{chain.belief(node):.2f}" if state.current else state.gone or "replaced"
    said = f"{node.content} (overruled by {overruled})" if overruled else node.content
    cells = (node.id, day, node.kind, node.scope, belief, said)
    row = "<tr>" if state.current else '<tr class="gone">'
    return row + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
