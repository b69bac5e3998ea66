"""What the file of the knowledge store holds. It may be deleted at any time."""

from typing import Final

FORMAT: Final = 3  # another number, or another set of tokenizers: the file is made anew

TABLES: Final = """
create table files (
    id         integer primary key,
    root       text    not null,
    path       text    not null unique,
    topic      text    not null,     -- dotted; "" where its name cannot be one
    scope      text    not null,
    digest     text    not null,     -- sha256 of its bytes; "" where it could not be read
    size_bytes integer not null,
    changed_ns integer not null,     -- of the file system; with the size says whether to look again
    first      integer not null,     -- id of its first chunk; the others follow without a gap
    chunks     integer not null,
    lengths    blob    not null,     -- words of each chunk, 16 bits little endian
    blob       text    not null,     -- digest of the blob that keeps its text; "" where none does
    offset     integer not null,     -- of its first byte in there
    bytes      integer not null,     -- in there, UTF-8
    note       text    not null      -- why it is not, or not fully, indexed; "" where it is
);
create table chunks (
    id       integer primary key,
    heading  text    not null,
    line     integer not null,       -- number of its first line in the file, from 1
    text     text    not null,
    speaker  text    not null        -- who says it, in a transcript; "" elsewhere
);
create table speakers (
    name  text    not null,          -- one word of a speaker's name, lower case
    chunk integer not null,
    primary key (name, chunk)
) without rowid;
create table state (
    name  text primary key,
    value integer not null
) without rowid;
create virtual table words using fts5(
    text, content='', columnsize=0,  -- lengths stand in `files`
    tokenize='porter unicode61 remove_diacritics 2'
);
create virtual table occurrences using fts5vocab(words, 'instance');
"""

# A passage is found by its words and by those of the titles that it stands under.
INDEXED: Final = "insert into words(rowid, text)"
UNINDEXED: Final = "insert into words(words, rowid, text) values ('delete', ?, ?)"


def indexed_text(heading: str, text: str) -> str:
    """What the full text holds of a chunk; to take it out, the same must be given again."""
    # The innermost title says what this very passage is about: it counts twice.
    return f"{heading}\n{heading.rsplit(' > ', 1)[-1]}\n{text}" if heading else text


def meant_text(heading: str, text: str, speaker: str) -> str:
    """What an embedder is given of a chunk."""
    # A date above a hundred turns says nothing of what any of them means; words find it.
    return text if speaker else indexed_text(heading, text)
