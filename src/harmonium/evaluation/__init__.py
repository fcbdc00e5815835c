"""Scores of a model other than its likelihood, one file per score."""

from .agreement_of_moments import MomentAgreement as MomentAgreement
from .agreement_of_moments import moment_agreement as moment_agreement
from .base import Quality as Quality
from .base import Score as Score
from .pseudo_likelihood import pseudo_log_likelihoods as pseudo_log_likelihoods
from .quality import sample_quality as sample_quality
from .reconstruction import reconstruction_errors as reconstruction_errors
from .table_columns import CellScores as CellScores
from .table_columns import ColumnScore as ColumnScore
from .table_columns import cell_scores as cell_scores
from .table_columns import column_scores as column_scores
from .table_columns import unexpected as unexpected
