"""A drop-in replacement for scikit-learn's BernoulliRBM."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.checks import positive_integer
from .._base.numerics import whole_number
from .._base.threefry import fold_in
from ..data import Dataset
from ..data.parts import in_parts
from ..evaluation import pseudo_log_likelihoods
from ..io.convert import to_sklearn
from ..layers import Bernoulli
from ..layers.coding import AbstractNumbers
from ..layers.discrete import AbstractBernoulli
from ..likelihood.scoring import LogLikelihood, log_likelihood
from ..rbm import RBM as Model
from ..training import Recipe, Report, TrainState
from ..training.optimizers import averaged_model
from .base import (
    CHAINS,
    FLOATS,
    SCORING,
    BaseRBM,
    at_precision,
    floats,
    free_energy,
    in_dtype,
    key_from,
    sweeps,
    warn_outside,
)

MONITORED_ROWS = 500  # the pseudo-likelihood of all rows would take longer than a pass


@dataclass(frozen=True)
class _AnyNumbers(AbstractNumbers):
    """The coding of 0/1 units whose rows may contain any finite number."""

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask that marks no entry, since every finite number is valid."""
        return np.zeros(rows.shape, bool)


class AnyReals(AbstractBernoulli):
    """Bernoulli units that also accept other numbers, used linearly in the energy."""

    def __init__(self, size: int, bias: Any = None):
        super().__init__(size, bias)

    @property
    def coding(self) -> AbstractNumbers:
        """The coding of the data: any finite number is accepted; the states are 0 and 1."""
        return _AnyNumbers(self.size, "a unit takes any finite number", 0.0, 1.0, stored=np.uint8)

    def fit_moments(self, x: jax.Array, weights: jax.Array | None = None) -> AnyReals:
        """Fit the units to the moments of the rows, whose values are first clipped to [0, 1]."""
        fitted = Bernoulli(self.size).fit_moments(jnp.clip(x, 0.0, 1.0), weights)
        return AnyReals(self.size, fitted.bias)


@dataclass(eq=False, repr=False)
class BernoulliRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseRBM):
    """A Bernoulli restricted Boltzmann machine, which models binary data and extracts features.

    A replacement for `sklearn.neural_network.BernoulliRBM` with the same parameters, attributes and
    methods, so settings tuned for scikit-learn also work here. It differs where scikit-learn's
    version is incorrect or random: each phase of the gradient is averaged over its own states,
    whatever the batch size; rows are shuffled; the visible biases are initialised from the data's
    moments; `score_samples` is exact; and `partial_fit` makes one pass over its rows in batches of
    `batch_size`. In addition, you can sample from the model and compute its likelihood.

    Rows may contain any finite numbers. Values outside [0, 1] are used linearly, as in
    scikit-learn; `fit` and the scoring methods then give a warning, since 0/1 units assign no
    probability to such values.
    Features, means, free energies and pseudo-likelihoods are computed in the precision of the rows;
    training, sampling and log Z use float32.

    Parameters
    ----------
    n_components : int, default=256
        Number of hidden units.
    learning_rate : float, default=0.1
        Learning rate of the gradient ascent.
    batch_size : int, default=10
        Rows per update; all rows if there are fewer.
    n_iter : int, default=10
        Passes over the rows in `fit`; None means at least 10,000 updates.
    verbose : int, default=0
        If not 0, print the pseudo-likelihood of some rows after each pass, or, in a long run, after
        every few passes.
    random_state : int, RandomState instance or None, default=None
        An int makes every method deterministic.
    method : str or gradient method, default="pcd"
        How to estimate the gradient of the likelihood: "pcd", with persistent chains; "cd", with
        chains that start at the data; "exact", by enumeration of the smaller layer; "auto", with
        persistent chains that use more sweeps or replica exchange if they would mix too slowly; or
        any other name in `hm.training.METHOD_NAMES`. A gradient method of the library, such as
        `hm.Persistent(hm.Gibbs(5))`, is also accepted.
    k : int, default=1
        Gibbs sweeps per update.
    n_chains : int, default=None
        Number of persistent chains; `batch_size` if None.
    optimizer : optax transformation or function of the number of updates, default=None
        If None, plain gradient ascent at the constant `learning_rate`, as in scikit-learn. For the
        highest likelihood, use `hm.Recipe(rate=0.1)`: centred gradients, averaged parameters, and a
        learning rate that falls to zero.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The weights.
    intercept_hidden_, intercept_visible_ : ndarray
        The biases.
    h_samples_ : ndarray of shape (n_chains, n_components)
        Hidden states of the persistent chains (method "pcd").
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.
    rbm_ : harmonium.RBM
        The model with these parameters, for use with the rest of the library.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.sklearn import BernoulliRBM
    >>> X = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> model = BernoulliRBM(n_components=2, random_state=0).fit(X)
    >>> model.transform(X).shape
    (4, 2)
    >>> model.log_likelihood(X).method
    'exact, 4 states'
    """

    n_components: int = 256  # scikit-learn's default, like the defaults below
    _: KW_ONLY
    learning_rate: float = 0.1
    batch_size: int = 10
    n_iter: int | None = 10

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BernoulliRBM:
        """Train the model on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; a sparse matrix is converted to dense batches, never as a whole.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row.
        """
        self._arguments()  # raises before any attribute changes
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        warn_outside(X)
        self.__dict__.pop("h_samples_", None)
        self.random_state_ = check_random_state(self.random_state)
        model = self._learn(AnyReals(X.shape[1]), X, sample_weight)
        return self._set(model, X.dtype)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BernoulliRBM:
        """Train on one more portion of rows, in one pass with batches of `batch_size`.

        Takes the same parameters as `fit`.
        """
        first = not hasattr(self, "components_")
        if not self._may_follow(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=first)
        visible = None
        if first:
            warn_outside(X)  # once per stream, since all portions have similar values
            visible = AnyReals(X.shape[1])
        model = self._learn_more(visible, X, sample_weight)
        return self._set(model, X.dtype if first else self.components_.dtype)

    def _set(self, model: Model, dtype: Any) -> BernoulliRBM:
        """Store the model's parameters under scikit-learn's names."""
        self.components_ = np.array(model.weights, dtype).T
        self.intercept_visible_ = np.array(model.visible.bias, dtype)  # pyright: ignore
        self.intercept_hidden_ = np.array(model.hidden.bias, dtype)  # pyright: ignore
        self._n_features_out = self.components_.shape[0]
        chains = getattr(self._state and self._state.gradient, "h", None)  # if persistent
        if chains is not None:
            self.h_samples_ = np.array(chains, dtype)
        return self

    def _assigned(self, state: TrainState) -> bool:
        fitted = averaged_model(state.optimizer, state.rbm)
        pairs = (
            (self.components_.T, fitted.weights),
            (self.intercept_visible_, fitted.visible.bias),  # pyright: ignore
            (self.intercept_hidden_, fitted.hidden.bias),  # pyright: ignore
        )
        return any((np.asarray(own, x.dtype) != np.asarray(x)).any() for own, x in pairs)

    def _recipe(self, rate: float) -> Recipe:
        """Return a recipe for plain gradient ascent at a constant rate, as in scikit-learn."""
        return Recipe(rate=rate, centring=None, averaging=None, hold=1.0)

    def _monitor(self, report: Report, dataset: Dataset) -> tuple[str, float]:
        rows = np.asarray(dataset.some(MONITORED_ROWS).rows())
        return "pseudo-likelihood", float(pseudo_log_likelihoods(report.rbm, rows).mean())

    # ------------------------------------------------------------------ the model

    @property
    def rbm_(self) -> Model:
        """The model with the fitted parameters."""
        check_is_fitted(self)
        arrays = self.components_.T, self.intercept_visible_, self.intercept_hidden_
        return Model.from_arrays(*arrays)

    def _model(self) -> Model:
        model = self.rbm_
        visible = AnyReals(model.visible.size, self.intercept_visible_)
        return Model(visible, model.hidden, model.weights)

    @classmethod
    def from_harmonium(cls, rbm: Model, **parameters: Any) -> BernoulliRBM:
        """Return a fitted estimator with the parameters of a harmonium model.

        Raises
        ------
        InputError
            The model has layers other than Bernoulli.
        """
        fitted = vars(to_sklearn(rbm))
        estimator = cls(n_components=rbm.hidden.size, **parameters)
        attributes = {name: value for name, value in fitted.items() if name.endswith("_")}
        vars(estimator).update(attributes, _n_features_out=rbm.hidden.size)
        return estimator

    # ------------------------------------------------------------------ using the fitted model

    def transform(self, X: Any) -> np.ndarray:
        """Return p(h = 1 | v) for each row v, shape (n_samples, n_components)."""
        return self._mean_hiddens(self._rows(X))

    def _mean_hiddens(self, v: Any) -> np.ndarray:
        # NumPy, in place: this is a single matrix product, for which NumPy is fastest on a CPU.
        check_is_fitted(self)
        h = v @ self.components_.T
        h += self.intercept_hidden_
        with np.errstate(over="ignore"):  # exp(1000) is ∞, and 1 / (1 + ∞) is correctly 0
            np.exp(np.negative(h, out=h), out=h)
        np.reciprocal(np.add(h, 1.0, out=h), out=h)
        if v.dtype in FLOATS:
            return h.astype(v.dtype, copy=False)
        return h

    def _sample_hiddens(self, v: Any, rng: np.random.RandomState) -> np.ndarray:
        p = self._mean_hiddens(v)
        return rng.uniform(size=p.shape) < p

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return p(v = 1 | h) given hidden states or means h, shape (n_samples, n_features)."""
        return self._visible_means(X)

    def reconstruct(self, X: Any) -> np.ndarray:
        """Return p(v = 1) given the hidden probabilities p(h = 1 | v) of each row v."""
        return self.inverse_transform(self.transform(X))

    def free_energy(self, X: Any) -> np.ndarray:
        """Return F(v) of each row, in nats: log p(v) = −F(v) − log Z."""
        X = self._rows(X)
        return self._apply(free_energy, X, X.dtype)

    def gibbs(self, v: Any, k: int = 1) -> np.ndarray:
        """Return the visible states, as booleans, after k Gibbs sweeps that start at the rows v."""
        check_is_fitted(self)
        if not hasattr(self, "random_state_"):
            self.random_state_ = check_random_state(self.random_state)
        rows = floats(v, accept_sparse="csr")
        key = key_from(self.random_state_, CHAINS)
        count = whole_number(positive_integer(k, "k"))
        model = self._model()

        def swept(part: jax.Array, number: int) -> jax.Array:
            return sweeps(model, part, count, fold_in(key, number))

        return in_parts(swept, rows, model.widest, np.float32) > 0.5

    def sample(self, n_samples: int = 1, *, k: int | None = None) -> np.ndarray:
        """Draw rows by k Gibbs sweeps or, if k is None, as `hm.sample` does by default."""
        return self._draws(n_samples, k)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-pseudo-likelihood of each row, Σ_i log p(v_i | all other units), in nats.

        For each row, scikit-learn draws one random unit i and multiplies log p(v_i | all other
        units) by the number of units. This method returns the full sum, which is the expectation of
        scikit-learn's estimate.
        """
        X = self._rows(X)
        warn_outside(X)
        with at_precision(X.dtype):
            model = in_dtype(self._model(), X.dtype)
            scores = [
                pseudo_log_likelihoods(model, _dense(X[first : first + 1024]))
                for first in range(0, X.shape[0], 1024)
            ]
        return np.concatenate(scores)

    def log_likelihood(self, X: Any, **settings: Any) -> LogLikelihood:
        """Return the mean log-likelihood of the rows, an uncertainty interval, and the method used.

        The result is exact if the smaller layer can be enumerated; otherwise log Z is estimated by
        forward and reverse annealed importance sampling. The settings are passed to
        `hm.log_likelihood`.

        Values outside [0, 1] are used linearly, with a warning; the result is then not a
        log-probability.
        """
        X = self._rows(X)
        settings = {"key": key_from(self.random_state, SCORING)} | settings
        warn_outside(X)
        return log_likelihood(self._model(), Dataset(X, name="X"), **settings)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood in nats per row: `log_likelihood(X).value`.

        To obtain the method and the interval as well, call `log_likelihood(X)`.
        """
        return self.log_likelihood(X).value

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", reset=False, dtype=FLOATS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.non_deterministic = False
        return tags


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if hasattr(rows, "toarray") else rows
