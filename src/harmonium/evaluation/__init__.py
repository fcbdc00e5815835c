"""Scores of a model other than its likelihood, one file for each."""

from .base import Quality as Quality
from .base import Score as Score
from .pseudo_likelihood import pseudo_log_likelihoods as pseudo_log_likelihoods
from .quality import sample_quality as sample_quality
from .reconstruction import reconstruction_errors as reconstruction_errors
