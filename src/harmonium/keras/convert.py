"""Exact conversion from and to `harmonium.RBM`; export to a Dense layer and to a SavedModel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, MissingDependencyError
from .base import keras, to_numpy
from .units import registry


def from_harmonium(cls: type, model: Any, **options: Any) -> Any:
    """Make a Keras model with the parameters of a `harmonium.RBM`, exact to the bit in float32."""
    if not all(hasattr(model, name) for name in ("visible", "hidden", "weights")):
        raise InputError(f"model: expected a harmonium.RBM; got {type(model).__name__}.")
    visible = registry.like(model.visible, "visible")
    hidden = registry.like(model.hidden, "hidden")
    n_visible, n_hidden = model.weights.shape
    result = cls(n_hidden, visible=visible, hidden=hidden, **options)
    result.build((None, n_visible))
    result.kernel.assign(np.asarray(model.dense_weights))
    result.visible.take(model.visible)
    result.hidden.take(model.hidden)
    return result


def to_harmonium(model: Any) -> Any:
    """Return the `harmonium.RBM` with this model's parameters, exact to the bit in float32."""
    from .. import layers
    from ..rbm import RBM

    if not model.built:
        raise InputError("rbm: expected a model of known width; call adapt(rows) or fit first.")
    visible = model.visible.to_core(layers)
    hidden = model.hidden.to_core(layers)
    return RBM(visible, hidden, to_numpy(model.kernel))


def to_dense(model: Any) -> keras.layers.Dense:
    """Return a plain, built `keras.layers.Dense` with output ⟨h | v⟩ and a copy of the weights.

    Raises:
        InputError: hidden units whose mean is not an activation function of Dense.
    """
    if model.hidden.activation is None:
        raise InputError(
            "to_layer: expected Bernoulli or Ising hidden units, whose means are activations of"
            f" Dense; got {type(model.hidden).__name__}."
        )
    dense = keras.layers.Dense(model.hidden.size, model.hidden.activation, dtype=model.dtype_policy)
    dense.build((None, model.visible.size))
    dense.set_weights([to_numpy(model.kernel), to_numpy(model.hidden.bias)])
    return dense


def signature(model: Any) -> list:
    """Return the input signature of a served model: any number of rows, in float32."""
    return [keras.InputSpec(shape=(None, model.visible.size), dtype="float32")]


def export_saved_model(model: Any, path: Any, verbose: bool | None) -> None:
    """Write a SavedModel with endpoints `serve` (⟨h | v⟩), `free_energy` and `reconstruct`.

    Raises:
        MissingDependencyError: the PyTorch backend, on which Keras writes no endpoints.
    """
    if keras.backend.backend() == "torch":
        raise MissingDependencyError(
            "export: Keras writes a SavedModel with these endpoints on the TensorFlow and JAX"
            " backends. Save the model, load it with KERAS_BACKEND=tensorflow and export it there,"
            ' or export it for PyTorch with format="torch".'
        )
    rows = signature(model)
    archive = keras.export.ExportArchive()
    archive.track_and_add_endpoint("serve", model, rows)
    archive.add_endpoint("free_energy", model.free_energy, rows)
    archive.add_endpoint("reconstruct", model.reconstruct, rows)
    archive.write_out(str(path), verbose=verbose is None or verbose)
