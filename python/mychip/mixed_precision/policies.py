"""Copies of a model under other dtype policies."""

from __future__ import annotations

from typing import Any

import keras

from mychip.mixed_precision.names import name_of

POLICIES = ("float32", "tf32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16")


def keras_policy(policy: str) -> str:
    """The Keras name: tf32 is float32 with another matrix precision. Raises ValueError for an unknown one."""
    if policy not in POLICIES:
        raise ValueError(f"policy {policy!r} is none of {', '.join(POLICIES)}")
    return "float32" if policy == "tf32" else policy


def named_layers(model: Any) -> list[Any]:
    """The layers one can give a policy to: all but containers and inputs, in the order they were made."""
    return [
        layer
        for layer in model._flatten_layers(include_self=False)
        if not isinstance(layer, (keras.Model, keras.layers.InputLayer)) and not _is_part(model, layer)
    ]


def dtype_policy_map(model: Any, policy: str, keep_float32: Any = ()) -> keras.dtype_policies.DTypePolicyMap:
    """``policy`` for all layers of ``model`` but those whose paths or names are in ``keep_float32``.

    What Keras accepts as ``dtype`` of a layer or a model's config; ``with_policy`` applies it.
    """
    policies = keras.dtype_policies.DTypePolicyMap(default_policy=keras.dtype_policies.get(keras_policy(policy)))
    for layer in named_layers(model):
        if name_of(layer) in keep_float32 or layer.name in keep_float32:
            policies[name_of(layer)] = keras.dtype_policies.get("float32")
    return policies


def with_policy(model: Any, policy: str, keep_float32: Any = ()) -> Any:
    """A copy of ``model`` with the same weights, each layer under ``policy`` but those of ``keep_float32``.

    ``keep_float32`` holds layers' paths or names. Functional and sequential models, and subclassed ones that have
    ``get_config``. Weights are float32 masters under the mixed policies and rounded under the pure ones.

    Raises ValueError for an unknown policy or a layer that the model has not.
    """
    name, kept = keras_policy(policy), set(keep_float32)
    layers = named_layers(model)
    known = {name_of(layer) for layer in layers} | {layer.name for layer in layers}
    if not kept <= known:
        raise ValueError(f"the model has no layer {', '.join(sorted(kept - known))}")
    keep = {layer.name for layer in layers if name_of(layer) in kept or layer.name in kept}

    def clone(layer: Any) -> Any:
        config = layer.get_config()
        chosen = "float32" if layer.name in keep else name
        return type(layer).from_config(_replace_dtype(config, keras.dtype_policies.get(chosen)))

    if isinstance(model, (keras.Sequential, keras.src.models.Functional)):
        copy = keras.models.clone_model(model, clone_function=clone, recursive=True)
    else:
        copy = type(model).from_config(_replace_dtype(model.get_config(), keras.dtype_policies.get(name)))
        copy.build_from_config(model.get_build_config())
    copy.set_weights(model.get_weights())
    copy.dtype_policy = keras.dtype_policies.get(name)
    return copy


def _replace_dtype(config: dict[str, Any], policy: Any) -> dict[str, Any]:
    """The config with every "dtype" of a layer in it, also of wrapped ones, replaced."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            nested = value.get("class_name"), value.get("module", "")
            is_initializer = nested[0] is not None and not str(nested[1]).startswith(
                ("keras.layers", "keras.src.layers")
            )
            if is_initializer and "registered_name" in value and value.get("registered_name") is None:
                return value
            return {k: keras.dtype_policies.serialize(policy) if k == "dtype" else walk(v) for k, v in value.items()}
        if isinstance(value, list):
            return [walk(v) for v in value]
        return value

    result: dict[str, Any] = walk(config)
    return result


def _is_part(model: Any, layer: Any) -> bool:
    """Inside another layer (an attention's projections): follows that layer's policy."""
    return any(
        other is not layer and not isinstance(other, keras.Model) and layer in other._flatten_layers(include_self=False)
        for other in model._flatten_layers(include_self=False)
    )
