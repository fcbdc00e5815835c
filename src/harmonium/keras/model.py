"""The computations of an RBM with any types of units: energies, conditional means, samples."""

from __future__ import annotations

import math
from typing import Any

from ..errors import InputError, MissingDependencyError
from .base import arithmetic_dtype, keras, ops, positive_integer
from .units.base import Tensor, Unit

HDF5 = (".h5", ".hdf5")


class BaseModel(keras.Model):
    """A Keras model of two layers of units and the weights between them.

        E(v, h) = U_v(v) + U_h(h) − vᵀ W h,      F(v) = U_v(v) − Γ_h(vW)

    U is the energy of a layer, and Γ its cumulant generating function. Every method accepts rows of
    any numeric type and computes in float32, or in float64 if that is the dtype policy. Sampling
    uses separate seeds, `monitor_seeds`, so calling these methods does not affect training.

    Attributes:
        visible: the visible units.
        hidden: the hidden units.
        kernel: W, shape (visible, hidden).
    """

    visible: Unit
    hidden: Unit
    kernel: Any
    monitor_seeds: keras.random.SeedGenerator

    def call(self, v: Tensor) -> Tensor:
        """Return ⟨h | v⟩; for Bernoulli units this is p(h = 1 | v) = σ(vW + b)."""
        means = self.hidden.mean(self.inputs_to_h(v))
        # The output does not depend on the visible parameters. If other layers are added on top, an
        # optimiser warns of parameters without a gradient; these terms give them a gradient of
        # zero.
        for variable in self.visible.trainable_variables:
            means = means + 0.0 * variable[0]
        return ops.cast(means, self.compute_dtype)

    def energy(self, v: Tensor, h: Tensor) -> Tensor:
        """Return E(v, h) = U_v(v) + U_h(h) − vᵀWh, in nats, one value for each row."""
        v = self._states(v, "v", self.visible)
        h = self._states(h, "h", self.hidden)
        interaction = ops.sum(ops.matmul(v, self.kernel) * h, axis=-1)
        return self.visible.energy(v) + self.hidden.energy(h) - interaction

    def free_energy(self, v: Tensor) -> Tensor:
        """Return F(v) = U_v(v) − Γ_h(vW) of each row, in nats: log p(v) = −F(v) − log Z."""
        v = self._states(v, "v", self.visible)
        return self.free_energy_under(v, ops.matmul(v, self.kernel))

    def free_energy_under(self, v: Tensor, inputs: Tensor) -> Tensor:
        """Return F(v), given `inputs` = vW."""
        return self.visible.energy(v) - self.hidden.cgf(inputs)

    def inputs_to_h(self, v: Tensor) -> Tensor:
        """Return vW, the inputs that the hidden units receive."""
        return ops.matmul(self._states(v, "v", self.visible), self.kernel)

    def inputs_to_v(self, h: Tensor) -> Tensor:
        """Return hWᵀ, the inputs that the visible units receive."""
        return ops.matmul(self._states(h, "h", self.hidden), ops.transpose(self.kernel))

    def mean_v_from_h(self, h: Tensor) -> Tensor:
        """Return ⟨v | h⟩; for Bernoulli units this is p(v = 1 | h) = σ(hWᵀ + a)."""
        return self.visible.mean(self.inputs_to_v(h))

    def sample_h_from_v(self, v: Tensor, seed: Any = None) -> Tensor:
        """Draw h from p(h | v)."""
        return self.hidden.sample(self.inputs_to_h(v), self._seed(seed))

    def sample_v_from_h(self, h: Tensor, seed: Any = None) -> Tensor:
        """Draw v from p(v | h)."""
        return self.visible.sample(self.inputs_to_v(h), self._seed(seed))

    def reconstruct(self, v: Tensor) -> Tensor:
        """Return the visible means ⟨v⟩ given the hidden means ⟨h | v⟩, without sampling."""
        return self.mean_v_from_h(self.hidden.mean(self.inputs_to_h(v)))

    def gibbs(self, v: Tensor, k: int = 1) -> Tensor:
        """Return the visible states after k Gibbs sweeps, h ~ p(h | v) and then v ~ p(v | h)."""
        for _ in range(positive_integer(k, "k")):
            v = self.sample_v_from_h(self.sample_h_from_v(v))
        return v

    def sample(self, n: int, sweeps: int = 1_000) -> Tensor:
        """Draw n visible states, each the last state of a separate chain of `sweeps` Gibbs sweeps.

        The initial states are drawn from the model with all weights set to zero. The number of
        sweeps needed to reach equilibrium depends on the model; convergence is not checked.
        """
        if not self.built:
            raise InputError("sample: the model has no weights yet; call it on rows or fit it.")
        zeros = ops.zeros((positive_integer(n, "n"), self.hidden.size), arithmetic_dtype(self))
        v = self.sample_v_from_h(self.hidden.sample(zeros, self._seed()))
        return self.gibbs(v, sweeps)

    # ---------------------------------------------------------------- files and summaries

    def save(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        """Save the model, with its chains and seeds, to a .keras file, as `keras.Model.save` does.

        Raises:
            InputError: the name ends in .h5 or .hdf5; Keras cannot save this model in the older
                HDF5 format.
        """
        if str(filepath).lower().endswith(HDF5):
            raise InputError(
                f"filepath: expected a name that ends in .keras; got {str(filepath)!r}; Keras's"
                " older HDF5 format cannot store variables outside layers, such as the kernel; save"
                " as .keras, or call save_weights with a name that ends in .weights.h5."
            )
        super().save(filepath, *args, **kwargs)

    def export(
        self,
        filepath: Any,
        format: str = "tf_saved_model",  # noqa: A002  (Keras's name)
        verbose: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Export the model for serving, which then requires neither harmonium nor Keras.

        A SavedModel has the endpoints `serve` (⟨h | v⟩), `free_energy` and `reconstruct`; other
        formats provide only ⟨h | v⟩.

        Raises:
            MissingDependencyError: a SavedModel was requested on the PyTorch backend; the message
                gives alternatives.
        """
        rows = [keras.InputSpec(shape=(None, self.visible.size), dtype="float32")]
        if format != "tf_saved_model" or kwargs:
            options = {"input_signature": rows} | kwargs
            super().export(filepath, format=format, verbose=verbose, **options)
            return
        if keras.backend.backend() == "torch":
            raise MissingDependencyError(
                "export: Keras writes a SavedModel with these endpoints on the TensorFlow and JAX"
                " backends. Save the model, load it with KERAS_BACKEND=tensorflow and export it"
                ' there, or export it for PyTorch with format="torch".'
            )
        archive = keras.export.ExportArchive()
        archive.track_and_add_endpoint("serve", self, rows)
        archive.add_endpoint("free_energy", self.free_energy, rows)
        archive.add_endpoint("reconstruct", self.reconstruct, rows)
        archive.write_out(str(filepath), verbose=verbose is None or verbose)

    def summary(self, *args: Any, **kwargs: Any) -> None:
        """Print Keras's summary, followed by what it omits: the kernel and the chains."""
        super().summary(*args, **kwargs)
        if self.built:
            show = kwargs.get("print_fn") or print
            show(f" Of these, in the RBM itself: {', '.join(self._own_weights())}")

    def _own_weights(self) -> list[str]:
        """Describe the variables that belong to no layer: the kernel and the chains."""
        in_layers = {id(x) for layer in self.layers for x in layer.weights}
        own = [x for x in self.weights if id(x) not in in_layers and len(x.shape) == 2]
        return [
            f"{x.name} {x.shape[0]} × {x.shape[1]} = {math.prod(x.shape):,}"
            f"{'' if x.trainable else ' (not trained)'}"
            for x in own
        ]

    def _states(self, x: Any, name: str, unit: Unit) -> Tensor:
        """Convert states to a tensor of `arithmetic_dtype`, and check the number of columns."""
        if not self.built:
            raise InputError(f"{name}: the model has no weights yet; call it on rows or fit it.")
        x = ops.cast(ops.convert_to_tensor(x), arithmetic_dtype(self))
        check_width(x, unit.size, name)
        return x

    def _seed(self, seed: Any = None) -> Any:
        if seed is None:
            return self.monitor_seeds
        return seed


def check_width(x: Any, size: int, name: str) -> None:
    """Raise InputError unless the last axis of x has length `size`."""
    if not len(x.shape) or x.shape[-1] != size:
        raise InputError(
            f"{name}: expected a last axis of length {size}; got shape {tuple(x.shape)}."
        )
