"""Parameters of a step or a gate, read as the Struct that its component announced."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from cortex.runtime.processes import misfit

Parameters = TypeVar("Parameters", bound=msgspec.Struct)
Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]


def read_parameters(given: Mapping[str, Any], kind: type[Parameters]) -> Parameters | str:
    """The parameters, or what is wrong with them.

    The compiler checked what is constant; what came from inputs and earlier steps shows only here.
    What came to nothing, such as a field of a step that was skipped, counts as left out.
    """
    known = {k: v for k, v in given.items() if v is not None}
    try:
        return msgspec.convert(known, kind)
    except msgspec.ValidationError as error:
        return misfit(known, str(error))
