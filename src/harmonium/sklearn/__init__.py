"""Estimators with the scikit-learn interface: BernoulliRBM, RBM, RBMClassifier, RBMImputer."""

from .bernoulli import BernoulliRBM as BernoulliRBM
from .classifier import RBMClassifier as RBMClassifier
from .imputer import RBMImputer as RBMImputer
from .rbm import RBM as RBM
