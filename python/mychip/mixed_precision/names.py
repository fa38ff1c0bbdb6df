"""What a layer is called."""

from typing import Any


def name_of(layer: Any) -> str:
    """Its path, or its name as long as it was not built: the key by which a DTypePolicyMap finds it."""
    return str(layer.path or layer.name)
