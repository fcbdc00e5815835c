"""Conversions between models and scikit-learn estimators in memory; nothing is unpickled."""

from typing import Any

import numpy as np

from ...errors import InputError
from ...rbm import RBM
from .base import KEEP_IT_NATIVE, Parameters, model_of, parameters_of

FITTED = ("components_", "intercept_visible_", "intercept_hidden_")


def to_sklearn(rbm: RBM, **settings: Any) -> Any:
    """Return a fitted `sklearn.neural_network.BernoulliRBM` with this model's parameters.

    scikit-learn stores W transposed, as `components_` of shape (hidden, visible); the signs of the
    parameters and the unit of energy, nats, are the same. The estimator can transform and score
    rows, and training can be continued with `partial_fit`.

    Args:
        rbm: a Bernoulli–Bernoulli model.
        settings: further arguments of the estimator, such as `learning_rate`.

    Raises:
        InputError: the model has other layers, which the estimator does not support.
    """
    weights, visible_bias, hidden_bias = parameters_of(rbm, "to_sklearn")
    if weights.ndim != 2:
        raise InputError(
            "to_sklearn: expected Bernoulli visible and hidden units, as BernoulliRBM"
            f" requires; got {rbm}; {KEEP_IT_NATIVE}."
        )
    from sklearn.neural_network import BernoulliRBM  # imported here, since it takes a second

    estimator: Any = BernoulliRBM(n_components=len(hidden_bias), **settings)
    estimator.components_ = np.array(weights.T, order="F")  # same memory layout as after fit
    estimator.intercept_visible_ = visible_bias.copy()
    estimator.intercept_hidden_ = hidden_bias.copy()
    estimator.n_features_in_ = len(visible_bias)
    estimator._n_features_out = len(hidden_bias)  # read by get_feature_names_out
    return estimator


def from_sklearn(estimator: Any) -> RBM:
    """Create a model from a fitted `BernoulliRBM`, or from any object with the same three arrays.

    Args:
        estimator: an object with `components_`, shape (hidden, visible), `intercept_visible_` and
            `intercept_hidden_`.

    Raises:
        InputError: an attribute is missing (the estimator may not be fitted), or the shapes do not
            match.
    """
    missing = [name for name in FITTED if not hasattr(estimator, name)]
    if missing:
        raise InputError(
            f"from_sklearn: expected a fitted estimator with {', '.join(FITTED)}; got"
            f" {type(estimator).__name__} without {' and '.join(missing)}; fit it first."
        )
    components, visible_bias, hidden_bias = (
        np.asarray(getattr(estimator, name)) for name in FITTED
    )
    parameters = Parameters(components.T, visible_bias, hidden_bias)
    return model_of(parameters, "from_sklearn", ("components_.T", *FITTED[1:]))
