"""`cortex events schema`: the vocabulary of the bus, for programs in any language."""

import click
import msgspec

from cortex.bus import asyncapi_document, schema_document
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import VERSION, NotFoundError

from ..options import with_screen
from ..screen import Screen


@click.command()
@click.argument("topic", required=False)
@click.option("--asyncapi", is_flag=True, help="One AsyncAPI 3 document for the whole bus.")
@with_screen
def schema(topic: str | None, asyncapi: bool, screen: Screen) -> None:
    """Print the JSON Schema of every event, or of those of TOPIC.

    The output is JSON with and without --json. The command needs no home: these are the events of
    the bus itself, not those that plugins add.
    """
    chosen = [cls for cls in VOCABULARY if topic in (None, cls.topic_name())]
    if not chosen:
        raise NotFoundError("topic", topic or "", "is not one of the bus: see docs/events.md")
    document = asyncapi_document(chosen, VERSION) if asyncapi else schema_document(chosen)
    screen.document(document)
    if not screen.as_json:
        screen.block(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
