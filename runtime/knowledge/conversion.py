"""Text of files that are no text: HTML and PDF, by converters that are an extra."""

import importlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from .errors import KnowledgeUnreadableError

EXTRA: Final = "pip install 'cortex-runtime[documents]'"


def convert(path: Path, data: bytes) -> str:
    """The text in *data*, which is what stands in the file at *path*.

    Raises:
        KnowledgeUnreadableError: The converter is not installed, or cannot read it.
    """
    module, converter = CONVERTED[path.suffix.lower()]
    try:
        return converter(importlib.import_module(module), data)
    except ImportError:
        raise KnowledgeUnreadableError(
            str(path), f"{path.suffix} files need {module}: {EXTRA}"
        ) from None
    except Exception as error:
        problem = f"{module} cannot read it: {str(error)[:200] or type(error).__name__}"
        raise KnowledgeUnreadableError(str(path), problem) from error


def _html(html2text: Any, data: bytes) -> str:
    reader = html2text.HTML2Text(bodywidth=0)
    reader.ignore_images = True
    return str(reader.handle(data.decode("utf-8", errors="replace")))


def _pdf(pypdf: Any, data: bytes) -> str:
    pages = pypdf.PdfReader(BytesIO(data)).pages
    return "\n\n".join(
        f"# Page {number}\n\n{page.extract_text()}" for number, page in enumerate(pages, 1)
    )


CONVERTED: Final[dict[str, tuple[str, Callable[[Any, bytes], str]]]] = {
    ".html": ("html2text", _html),
    ".htm": ("html2text", _html),
    ".pdf": ("pypdf", _pdf),
}
