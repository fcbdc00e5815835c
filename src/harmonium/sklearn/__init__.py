"""Estimators with the scikit-learn interface, such as `BernoulliRBM`, `RBM` and `RBMImputer`."""

from .bernoulli import BernoulliRBM as BernoulliRBM
from .classifier import RBMClassifier as RBMClassifier
from .deep import DeepRBM as DeepRBM
from .imputer import RBMImputer as RBMImputer
from .rbm import RBM as RBM
