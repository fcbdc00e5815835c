"""Estimators with the scikit-learn interface: BernoulliRBM, RBM and RBMClassifier."""

from .bernoulli import BernoulliRBM as BernoulliRBM
from .classifier import RBMClassifier as RBMClassifier
from .rbm import RBM as RBM
