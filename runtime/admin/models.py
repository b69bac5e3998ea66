"""Whether the models of a home can be asked."""

from concurrent.futures import ThreadPoolExecutor

from cortex.runtime.kernel import Config, Home, NotFoundError
from cortex.runtime.models import EMBEDDED_MODEL
from cortex.runtime.serving.doctor import ModelCheck, check_model, models_of

AT_ONCE = 8  # endpoints that are checked beside each other


def check_models(home: Home, name: str | None = None) -> list[ModelCheck]:
    """Whether the models of *home* can be asked, or the one called *name*; no prompt is sent.

    Raises:
        NotFoundError: There is none of that name.
    """
    rows = models_of(home)
    asked = [row for row in rows if name in (None, row.name)]
    if not asked:
        raise NotFoundError("model", name or "", "is not known: `cortex model list` shows what is")
    models = Config.load(home).models
    used = {each.name: each for each in models.use}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda row: check_model(row, used.get(row.name), home), asked))
    if name is not None:
        return found
    if not models.use and all(row.provider == EMBEDDED_MODEL for row in rows):
        todo = f"name one in {home.config_path}, as [[models.use]]"
        found.append(ModelCheck("models", "fail", "none is configured", todo))
    if models.default and models.default not in {row.name for row in rows}:
        todo = "correct `default` in [models], or it chooses nothing"
        found.append(ModelCheck(models.default, "fail", "the default is not a model", todo))
    return found
