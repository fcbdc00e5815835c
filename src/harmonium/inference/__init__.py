"""Inference with a trained model: samples, conditional samples, probabilities, missing cells."""

from .forecasting import forecast as forecast
from .hidden_means import features as features
from .imputation import Imputation as Imputation
from .imputation import impute as impute
from .questions import Answer as Answer
from .questions import ask as ask
from .sampling import condition as condition
from .sampling import sample as sample
