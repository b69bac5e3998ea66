"""How a legend is written: one line an entry, and what each name of a text stands for."""

import json
from typing import Final

from ..errors import CtxBoundError, CtxFormatError

# One token each under both shipped encodings; what a text itself uses is left out.
NAMES: Final = (
    "αβγδεηθικλμνπρστυφχω§¶†•¤£¥µ¿¡«»ª½¾×æåßбвгджзиклмнптфцчшщъыьэюяБГДЗИЛПУФЦЧЭЯ"  # noqa: RUF001  # rare on purpose
    "あいうえおかがきくけこごさざしじすせそただちっつてでとどなにのはばまみめもやよらりるれろわをん"
    "アィイウェエオカキクグコサシジスズセタダチッテデトドナニバパビピフブプペポマムメャュョラリルレロン"
    "कतनपमरलसहกขคงจชณดตถทนบปผพมยรลวสหอ"
    "간값개거게결경고공과구그글기나내는능니다당대도동되된드들디라러로를리만메면명목문미버번보복부분비사산상색"
    "생서성세소수스시식신아야어에여열오와요용우운원위은을음의이인일임입자작장재적전정제조주지진체출치크태터트"
)
EXPANDED_CHARS = 64_000_000  # a legend of 20 lines can say a text of terabytes


def show(entries: list[tuple[str, str]]) -> list[str]:
    """The lines of the legend."""
    return [f"{name}={_shown(phrase)}" for name, phrase in entries]


def _shown(phrase: str) -> str:
    plain = phrase.isprintable() and phrase.strip(" ") == phrase and phrase[0] != '"'
    return phrase if plain else json.dumps(phrase, ensure_ascii=False)


def expand(lines: list[str], body: str, limit: int = EXPANDED_CHARS) -> str:
    """*body* with every name of the legend *lines* replaced by its phrase.

    Raises:
        CtxFormatError: a line is no entry.
        CtxBoundError: the result would be longer than *limit* characters.
    """
    phrases: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name, phrase = line[:1], line[2:]
        if line[1:2] != "=" or not phrase or name in phrases or name not in NAMES:
            raise CtxFormatError(f"{line[:40]!r} is not an entry of a legend", number + 1)
        if phrase[0] == '"':
            try:
                phrase = json.loads(phrase)
            except ValueError as error:
                raise CtxFormatError(f"a phrase does not end: {error}", number + 1) from error
        phrases[name] = _replaced(str(phrase), phrases, limit)
    return _replaced(body, phrases, limit)


def _replaced(text: str, phrases: dict[str, str], limit: int) -> str:
    if not phrases:
        return text
    size = len(text) + sum(text.count(n) * (len(p) - 1) for n, p in phrases.items())
    if size > limit:
        raise CtxBoundError("the expanded text in characters", size, limit)
    return text.translate({ord(name): phrase for name, phrase in phrases.items()})
