"""The RBM as a Keras model, which is compiled, fitted, saved and stacked like any other model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import InputError
from . import gap, monitors, watching
from . import initialization as start
from .base import (
    PACKAGE,
    arithmetic_dtype,
    keras,
    ops,
    positive_integer,
    rows_and_weights,
    to_numpy,
)
from .default_run import DefaultRun, Penalty, split_of
from .model import BaseModel
from .units import registry
from .units.base import Tensor

STEPS_PER_EXECUTION = 128  # since returning to Python takes longer than an update


@keras.saving.register_keras_serializable(package=PACKAGE)
class RBM(BaseModel):
    r"""A restricted Boltzmann machine as a Keras model, trained by `compile` and `fit`.

        E(v, h) = U_v(v) + U_h(h) − vᵀ W h,      F(v) = U_v(v) − Γ_h(vW),      p(v) = e^(−F(v))/Z

    U is the energy of a layer, and Γ its cumulant generating function. Called on rows v, shape (n,
    visible), the model returns the hidden means ⟨h | v⟩, so it can be stacked like a layer.
    `fit(x)` needs no y, and any y is ignored. The loss is the free-energy gap ⟨F⟩_data − ⟨F⟩_model.
    The gradient of the loss estimates the gradient of the negative log-likelihood, but its value is
    *not* a likelihood (for which see `to_harmonium` and `harmonium.log_likelihood`). All arithmetic
    is in float32, or in float64 if that is the dtype policy.

    Args:
        units: number of hidden columns: the hidden units or, for Potts units, sites · states.
        visible: "bernoulli" (values in [0, 1]), "ising" (−1, +1), "gaussian", or `Potts(q)`.
        hidden: the hidden units, with the same choices.
        method: "pcd", whose chains persist from batch to batch, or "cd", whose chains start at the
            rows of the batch.
        k: Gibbs sweeps per update.
        chains: number of persistent chains, independent of the batch size.
        kernel_initializer: the initializer of W, shape (visible, units); N(0, 0.01²) by default.
        kernel_regularizer: a penalty on W, such as `keras.regularizers.L2(1e-4)`.
        seed: an int makes weights, chains and draws reproducible.
        **kwargs: name, dtype and trainable, as for every Keras layer.

    Raises:
        InputError: an argument is invalid.

    Example:
        >>> import harmonium.keras as hk
        >>> rows = hm.bars_and_stripes(2).astype("float32")
        >>> rbm = hk.RBM(3, chains=16, seed=0)
        >>> rbm.adapt(rows)
        >>> rbm.compile(metrics=["reconstruction"])
        >>> sorted(rbm.fit(rows, epochs=2, verbose=0).history), rbm.to_harmonium().weights.shape
        (['loss', 'reconstruction'], (4, 3))

    Source: Smolensky 1986; Hinton 2002; Tieleman 2008.
    """

    def __init__(
        self,
        units: int,
        *,
        visible: Any = "bernoulli",
        hidden: Any = "bernoulli",
        method: str = "pcd",
        k: int = 1,
        chains: int = 100,
        kernel_initializer: Any = None,
        kernel_regularizer: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        # Half precision would round the logits of the two phases differently and bias the gradient.
        super().__init__(autocast=False, **kwargs)
        if method not in ("cd", "pcd"):
            raise InputError(f"method: expected 'cd' or 'pcd'; got {method!r}.")
        self.units = positive_integer(units, "units")
        self.k = positive_integer(k, "k")
        self.n_chains = positive_integer(chains, "chains")
        self.method = method
        self.seed = seed
        self.visible = registry.get(visible, "visible", self.dtype_policy)
        self.hidden = registry.get(hidden, "hidden", self.dtype_policy)
        if kernel_initializer is None:
            # The initial weights are small, as in Hinton 2010, section 8.
            kernel_initializer = keras.initializers.RandomNormal(stddev=0.01, seed=seed)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        # Methods called outside training use separate seeds, so they do not affect training.
        self.chain_seeds = keras.random.SeedGenerator(seed)
        self.monitor_seeds = keras.random.SeedGenerator(None if seed is None else seed + 1)
        # Keras saves variables but not seed generators; their states are saved as variables here.
        self.chain_seed_state = self.chain_seeds.state
        self.monitor_seed_state = self.monitor_seeds.state
        self._watched: tuple[str, ...] = ()
        self._means = [keras.metrics.Mean(name=name) for name in monitors.NAMES]
        self.penalty = Penalty(name="penalty")
        self._has_penalty = False
        self._has_own_optimizer = True  # whether the user chose the optimiser
        self.has_warned_of_scale = False

    def build(self, input_shape: Any) -> None:
        """Create the parameters; the last entry of `input_shape` is the number of columns of v."""
        width = input_shape[-1] if len(input_shape) else None
        if width is None:
            raise InputError(f"v: expected a known number of columns; got the shape {input_shape}.")
        for unit, size in ((self.visible, width), (self.hidden, self.units)):
            if not unit.built:
                unit.build((None, size))
        own: dict = {"dtype": arithmetic_dtype(self), "autocast": False}
        self.kernel = self.add_weight(
            name="kernel",
            shape=(width, self.units),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            **own,
        )
        if self.method == "pcd":
            self.chains = self.add_weight(
                name="chains",
                shape=(self.n_chains, self.units),
                initializer=self._first_chains,
                trainable=False,
                aggregation="only_first_replica",  # a mean of states is not a state
                **own,
            )

    def _first_chains(self, shape: Any, dtype: Any) -> Tensor:
        """Draw the initial hidden states of the chains, from units with zero bias."""
        return self.hidden.fair(shape, dtype, None if self.seed is None else self.seed + 2)

    def get_config(self) -> dict:
        """Return the constructor's arguments."""
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "units": self.units,
            "visible": registry.config_of(self.visible),
            "hidden": registry.config_of(self.hidden),
            "method": self.method,
            "k": self.k,
            "chains": self.n_chains,
            "kernel_initializer": serialize(self.kernel_initializer),
            "kernel_regularizer": serialize(self.kernel_regularizer),
            "seed": self.seed,
        }

    # ---------------------------------------------------------------- learning

    def adapt(self, data: Any) -> None:
        """Initialise from data: fit the visible units to the data's moments, and centre all biases.

        Call this method once, before `fit`; like `harmonium.initialize`, it overwrites all biases.

        Args:
            data: rows, shape (n, visible), or anything that yields batches of them, x or (x, …),
                such as a finite `tf.data.Dataset`.

        Raises:
            InputError: there are no rows, their shape is wrong, or values are outside the domain of
                the visible units.
        """
        start.adapt(self, data)

    def compile(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        optimizer: Any = None,
        loss: Any = None,
        *,
        metrics: str | Iterable[str] = "auto",
        steps_per_execution: int | str = "auto",
        **kwargs: Any,
    ) -> None:
        """Choose the optimiser and the metrics.

        Args:
            optimizer: any Keras optimiser; Adam(1e-3) by default.
            metrics: some of "free_energy_gap" (the loss without penalties), "reconstruction" and
                "pseudo_likelihood"; "auto" means the last two, but without the pseudo-likelihood if
                the visible units are continuous. During training, both use the first 64 rows of
                each batch, and the pseudo-likelihood uses one unit per row; during evaluation, both
                use all rows, and the pseudo-likelihood uses up to 32 units per row.
            steps_per_execution: updates between calls of the callbacks' batch methods; "auto" is
                128, or 1 on PyTorch, the only value allowed there.
            loss: None, since the loss is built in.
            **kwargs: further arguments of `keras.Model.compile`.

        Raises:
            InputError: a loss was given, or a metric is not defined for these units.
        """
        if loss is not None:
            raise InputError(
                "loss: expected None, since the loss is always the free-energy gap; got a loss."
            )
        self._watched = monitors.chosen(metrics, self)
        if steps_per_execution == "auto":
            # Keras's trainer on PyTorch requires 1.
            steps_per_execution = 1 if keras.backend.backend() == "torch" else STEPS_PER_EXECUTION
        self._has_own_optimizer = optimizer is not None
        if optimizer is None:
            # Keras's own default, and safe for 0/1 and ±1 units and for standardised columns.
            optimizer = keras.optimizers.Adam(1e-3)
        super().compile(optimizer, steps_per_execution=steps_per_execution, **kwargs)

    def get_compile_config(self) -> dict | None:
        """Return the arguments that `compile` was called with."""
        config = super().get_compile_config()
        if not config:
            return config
        return {**config, "metrics": list(self._watched)}

    def compile_from_config(self, config: dict) -> None:
        """Compile the model with a saved configuration."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.built:
            self.optimizer.build(self.trainable_variables)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Train on rows x, an array, a `tf.data.Dataset` or a data loader, as in `keras.Model.fit`.

        Any y, given separately or in the batches of a data set, is ignored. Sample weights apply to
        the rows.

        If neither `epochs` nor an optimiser (in `compile`) is given, training on an array of rows
        follows `harmonium.fit`: it makes at least 20 epochs and 10,000 updates, with a penalty on
        large entries of the kernel. If rows are held out (`validation_split` or
        `validation_data`), the strength of the penalty is adapted to the free-energy gap between
        held-out and training rows, the logs include `val_log_likelihood`, and the model with the
        highest held-out log-likelihood is restored at the end. The attribute `message` of the
        returned history describes the chosen penalty and model; it is printed unless `verbose` is
        0. In all other cases none of this applies, and `fit` makes one pass over the rows unless
        `epochs` is given.

        A run that diverges stops with a `DivergenceWarning`, and the last model before the
        divergence is restored. Further warnings are given if continuous columns are not
        standardised, and if a callback monitors the loss, which does not measure the quality of the
        model.

        Raises:
            InputError: values in an array, or in the first batch of a `tf.data.Dataset`, are
                outside the domain of the visible units.
        """
        kwargs |= watching.named(super().fit, args, after=4)
        start.check_input(self, x, "x")
        held_out = kwargs.get("validation_data")
        start.check_input(self, rows_and_weights(held_out)[0], "validation_data")
        weights = kwargs.get("sample_weight")
        if isinstance(held_out, tuple) and len(held_out) == 3:
            kwargs["validation_data"] = (held_out[0], start.targets(*held_out), held_out[2])
        y = start.targets(x, y, weights)
        default_run = None
        if epochs is None and not self._has_own_optimizer and hasattr(x, "shape"):
            parts = split_of(x, weights, kwargs.get("validation_split"), held_out)
            default_run = DefaultRun(self, *parts, batch_size or 32)  # Keras's own default
        run = watching.Run(self, default_run, kwargs)
        self._set_penalty(default_run is not None)
        try:
            history = super().fit(x, y, batch_size, run.epochs(epochs), **run.options)
        finally:
            self._set_penalty(False)
        history.message = run.end()
        return history

    def _set_penalty(self, present: bool) -> None:
        """Add the penalty to the loss and the displayed metrics, or remove it."""
        if present != self._has_penalty:
            self._has_penalty = present
            self.train_function = self.test_function = None  # these were compiled for the old loss

    def evaluate(self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the loss and the metrics on rows x, as `keras.Model.evaluate` does.

        Raises:
            InputError: values are outside the domain of the visible units, as in `fit`.
        """
        kwargs |= watching.named(super().evaluate, args, after=2)
        start.check_input(self, x, "x")
        y = start.targets(x, y, kwargs.get("sample_weight"))
        return super().evaluate(x, y, **watching.with_bar(kwargs))

    def predict(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the hidden means ⟨h | x⟩ of rows x as an array, as `keras.Model.predict` does."""
        kwargs |= watching.named(super().predict, args, after=1)
        return super().predict(x, **watching.with_bar(kwargs))

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Tensor:
        """Return the free-energy gap plus penalties; during training, also advance the chains."""
        rows = self._states(x, "x", self.visible)
        if len(rows.shape) != 2:
            raise InputError(f"x: expected shape (rows, columns); got {tuple(rows.shape)}.")
        weights = sample_weight
        if weights is not None:
            weights = ops.cast(ops.reshape(weights, (-1,)), rows.dtype)
        loss = gap.free_energy_gap(self, rows, weights, training)
        self._update_metrics(rows, weights, loss, training)
        if training and self._has_penalty:
            loss = loss + self.penalty.of(self.kernel)
        return sum(self.losses, loss)

    def _update_metrics(
        self, rows: Tensor, weights: Tensor | None, loss: Tensor, training: bool
    ) -> None:
        watched = rows
        if training:
            watched = rows[: monitors.ROWS_IN_TRAINING]
            if weights is not None:
                weights = weights[: monitors.ROWS_IN_TRAINING]
        for mean in self._means:
            if mean.name not in self._watched:
                continue
            if mean.name == "free_energy_gap":
                mean.update_state(ops.stop_gradient(loss), ops.shape(rows)[0])
                continue
            values = monitors.of_rows(mean.name, self, watched, training)
            mean.update_state(ops.stop_gradient(values), weights)

    @property
    def metrics(self) -> list:
        """The metrics to display: Keras's own metrics, and the metrics chosen in `compile`."""
        hidden = [mean for mean in self._means if mean.name not in self._watched]
        if not self._has_penalty:
            hidden.append(self.penalty)
        ids = {id(metric) for metric in hidden}
        return [metric for metric in super().metrics if id(metric) not in ids]

    def pseudo_likelihood(self, v: Any) -> Tensor:
        """Return the log-pseudo-likelihood of each row, in nats, from up to 32 visible units.

        With at most 32 visible units, the value is exact: Σ_i log p(v_i | all other units). With
        more units, it is an estimate from 32 of them, which are the same in each call.

        Raises:
            InputError: the visible units are continuous.
        """
        monitors.chosen("pseudo_likelihood", self)
        return monitors.evaluated_pseudo_likelihood(self, self._states(v, "v", self.visible))

    # ---------------------------------------------------------------- conversion and export

    @classmethod
    def from_harmonium(cls, model: Any, **options: Any) -> RBM:
        """Convert a `harmonium.RBM` to a Keras model, with bit-identical parameters in float32.

        Args:
            model: an RBM with Bernoulli, Ising, Gaussian or Potts layers and an array of weights.
            **options: arguments of this class, such as `method`.

        Raises:
            InputError: a layer is of another type.
        """
        if not all(hasattr(model, name) for name in ("visible", "hidden", "weights")):
            raise InputError(f"model: expected a harmonium.RBM; got {type(model).__name__}.")
        visible = registry.like(model.visible, "visible")
        hidden = registry.like(model.hidden, "hidden")
        n_visible, n_hidden = model.weights.shape
        copy = cls(n_hidden, visible=visible, hidden=hidden, **options)
        copy.build((None, n_visible))
        copy.kernel.assign(np.asarray(model.dense_weights))
        copy.visible.take(model.visible)
        copy.hidden.take(model.hidden)
        return copy

    def to_harmonium(self) -> Any:
        """Convert the model to a `harmonium.RBM`, with bit-identical parameters in float32."""
        from .. import layers
        from ..rbm import RBM as Model

        if not self.built:
            raise InputError("rbm: the model has no weights yet; call adapt(rows) or fit first.")
        return Model(
            self.visible.to_core(layers), self.hidden.to_core(layers), to_numpy(self.kernel)
        )

    def to_layer(self) -> keras.layers.Dense:
        """Return a plain `keras.layers.Dense` with output ⟨h | v⟩ and a copy of the weights.

        The layer is meant for fine-tuning with other layers on top, and can be loaded without
        harmonium.

        Raises:
            InputError: the hidden units are neither Bernoulli (sigmoid) nor Ising (tanh).
        """
        activation = self.hidden.activation
        if activation is None:
            raise InputError(
                "to_layer: expected Bernoulli or Ising hidden units, whose means a Dense layer can"
                f" compute with sigmoid or tanh; got {type(self.hidden).__name__} units."
            )
        dense = keras.layers.Dense(self.hidden.size, activation, dtype=self.dtype_policy)
        dense.build((None, self.visible.size))
        dense.set_weights([to_numpy(self.kernel), to_numpy(self.hidden.bias)])
        return dense
