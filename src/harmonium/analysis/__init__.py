"""Analyses of a trained model: couplings, gauges, entropy, mutations, trees, unit descriptions."""

from .couplings import Couplings as Couplings
from .couplings import contact_scores as contact_scores
from .couplings import effective_couplings as effective_couplings
from .gauge import unit_hidden_variance as unit_hidden_variance
from .gauge import unit_weight_norms as unit_weight_norms
from .gauge import zero_sum as zero_sum
from .model_entropy import Entropy as Entropy
from .model_entropy import entropy as entropy
from .mutations import single_changes as single_changes
from .trees import DependenceForest as DependenceForest
from .trees import dependence_forest as dependence_forest
from .trees import tree_log_likelihood as tree_log_likelihood
from .trees import tree_log_p as tree_log_p
from .words_for_units import UnitInWords as UnitInWords
from .words_for_units import hidden_in_words as hidden_in_words
