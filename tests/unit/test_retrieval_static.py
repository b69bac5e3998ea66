"""The table of the extra `static`: words alike are near, and another embedder's index is redone."""

from pathlib import Path

import numpy as np
import pytest

from cortex.runtime.knowledge import Knowledge, KnowledgeConfig, embedder_of
from cortex.runtime.retrieval import EmbedderError, HashingEmbedder, StaticEmbedder

from .knowledge_world import folder, roots

__all__ = ["folder"]  # a fixture

with_table = pytest.mark.skipif(
    not StaticEmbedder.is_installed(), reason="it needs the extra `static`"
)


@pytest.fixture
def without_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{StaticEmbedder.__module__}.PACKAGE", "no_such_package")


@with_table
def test_words_that_mean_alike_are_near_however_many_are_asked_together() -> None:
    texts = ["a kitten sleeps", "cats", "The annual tax return of a company", ""]

    rows = StaticEmbedder().embed(texts)
    alone = StaticEmbedder().embed(texts[:1])

    assert rows[0] @ rows[1] > 2 * abs(rows[0] @ rows[2])
    assert np.allclose(rows[0], alone[0], atol=1e-6)
    assert not rows[3].any()


@with_table
def test_words_count_by_their_weights() -> None:
    table = StaticEmbedder()
    cats, taxes, both = table.embed(["cats", "taxes", "cats taxes"])

    assert np.allclose(table.weighted({"cats": 2.0, "taxes": 0.0}), cats, atol=1e-6)
    assert np.allclose(table.weighted({"cats": 1.0, "taxes": 1.0}), both, atol=1e-6)
    assert table.weighted({"cats": 3.0, "taxes": 1.0}) @ cats > both @ cats > taxes @ cats


@with_table
def test_it_is_the_default_where_it_is_installed() -> None:
    assert isinstance(embedder_of(KnowledgeConfig()), StaticEmbedder)


@pytest.mark.usefixtures("without_table")
def test_without_the_extra_word_parts_are_compared_and_asking_for_it_names_the_extra() -> None:
    assert isinstance(embedder_of(KnowledgeConfig()), HashingEmbedder)
    with pytest.raises(EmbedderError, match=r"no_such_package.*\[static\]"):
        embedder_of(KnowledgeConfig(embedder="static"))


@with_table
def test_an_index_of_another_embedder_is_made_again_by_itself(tmp_path: Path, folder: Path) -> None:
    earlier = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig(embedder="hashing"))
    earlier.update()
    earlier.close()

    now = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig())
    now.update()

    told = now.statistics()
    assert (told.vectors, told.embedder) == (told.chunks, "static:l2_supercat_256")
    assert now.find("Which region is deployed first?").passages[0].topic == "ops.deploy"
    now.close()
