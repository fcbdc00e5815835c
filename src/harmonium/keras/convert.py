"""From and to the core's machines, exactly; to a plain Dense layer; to a SavedModel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, MissingDependencyError
from .base import keras, to_numpy
from .units import registry


def from_harmonium(cls: type, machine: Any, **options: Any) -> Any:
    """Make a Keras machine with the parameters of a `harmonium.RBM`, bit for bit in float32."""
    for side in ("visible", "hidden", "weights"):
        if not hasattr(machine, side):
            raise InputError(f"machine: expected a harmonium.RBM; got {type(machine).__name__}.")
    units = {side: registry.like(getattr(machine, side), side) for side in ("visible", "hidden")}
    n_visible, n_hidden = machine.weights.shape
    result = cls(n_hidden, **units, **options)
    result.build((None, n_visible))
    result.kernel.assign(np.asarray(machine.dense_weights))
    result.visible.take(machine.visible)
    result.hidden.take(machine.hidden)
    return result


def to_harmonium(machine: Any) -> Any:
    """Give the `harmonium.RBM` with this machine's parameters, bit for bit in float32."""
    from .. import layers
    from ..rbm import RBM

    visible, hidden = machine.visible.to_core(layers), machine.hidden.to_core(layers)
    return RBM(visible, hidden, to_numpy(machine.kernel))


def to_dense(machine: Any) -> keras.layers.Dense:
    """Give a plain `keras.layers.Dense` whose output is ⟨h | v⟩, built, with its own weights.

    Raises:
        InputError: hidden units whose mean is no activation function of Dense.
    """
    if machine.hidden.activation is None:
        raise InputError(
            "to_layer: expected Bernoulli or Ising hidden units, whose means are activations of"
            f" Dense; got {type(machine.hidden).__name__}."
        )
    dense = keras.layers.Dense(
        machine.hidden.size, machine.hidden.activation, dtype=machine.dtype_policy
    )
    dense.build((None, machine.visible.size))
    dense.set_weights([to_numpy(x) for x in (machine.kernel, machine.hidden.bias)])
    return dense


def signature(machine: Any) -> list:
    """Give what a served machine takes: rows of float32, as many as there are."""
    return [keras.InputSpec(shape=(None, machine.visible.size), dtype="float32")]


def export_saved_model(machine: Any, path: Any, verbose: bool | None) -> None:
    """Write a SavedModel with endpoints `serve` (⟨h | v⟩), `free_energy` and `reconstruct`.

    Raises:
        MissingDependencyError: the PyTorch backend, on which Keras writes none with endpoints.
    """
    if keras.backend.backend() == "torch":
        raise MissingDependencyError(
            "export: Keras writes a SavedModel with these endpoints on the TensorFlow and JAX"
            " backends. Save the model, load it with KERAS_BACKEND=tensorflow and export it there,"
            ' or export it for PyTorch with format="torch".'
        )
    rows, archive = signature(machine), keras.export.ExportArchive()
    archive.track_and_add_endpoint("serve", machine, rows)
    archive.add_endpoint("free_energy", machine.free_energy, rows)
    archive.add_endpoint("reconstruct", machine.reconstruct, rows)
    archive.write_out(str(path), verbose=True if verbose is None else verbose)
