"""Prompts on a screen: their manifests, what changed between two, and the health of a context."""

from .following import Following
from .picture import Picture
from .telling import counting_of, digest_shown, show_diff, show_manifest, show_stats

__all__ = [
    "Following",
    "Picture",
    "counting_of",
    "digest_shown",
    "show_diff",
    "show_manifest",
    "show_stats",
]
