"""Scores of a model other than its likelihood, one file for each."""

from .agreement_of_moments import MomentAgreement as MomentAgreement
from .agreement_of_moments import moment_agreement as moment_agreement
from .base import Quality as Quality
from .base import Score as Score
from .mutations import single_changes as single_changes
from .pseudo_likelihood import pseudo_log_likelihoods as pseudo_log_likelihoods
from .quality import sample_quality as sample_quality
from .questions import Answer as Answer
from .questions import ask as ask
from .reconstruction import reconstruction_errors as reconstruction_errors
from .table_columns import CellScores as CellScores
from .table_columns import ColumnScore as ColumnScore
from .table_columns import cell_scores as cell_scores
from .table_columns import column_scores as column_scores
from .table_columns import unexpected as unexpected
from .trees import tree_log_likelihood as tree_log_likelihood
from .words_for_units import UnitInWords as UnitInWords
from .words_for_units import hidden_in_words as hidden_in_words
