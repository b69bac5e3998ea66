"""Names of tools as model endpoints take them."""

import hashlib
import re

LONGEST = 64  # characters that every endpoint takes
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_HASH = 8  # characters that tell shortened names apart


def wire_name(name: str) -> str:
    """*name* in letters, digits, `_` and `-`; different names stay different.

    `server.tool` becomes `server__tool`. A name that would not be unmistakable then, or too long,
    ends with some letters of its hash.
    """
    plain = name.replace(".", "__")
    told = _PLAIN.fullmatch(plain) and "__" not in name and name.count(".") <= 1
    clear = told and not name.startswith((".", "_")) and "_." not in name and "._" not in name
    if clear and len(plain) <= LONGEST:
        return plain
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    kept = "".join(c if _PLAIN.fullmatch(c) else "_" for c in plain)
    return f"{kept[: LONGEST - _HASH - 1]}-{digest}"
