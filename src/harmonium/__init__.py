"""harmonium: restricted Boltzmann machines, trained, sampled and honestly scored.

    import harmonium as hm

The packages, each importing only from those above it in this list:

    errors, parameters, statistics   errors; parameters; sums
    _threefry, _host, _html   randomness; calls of Python from compiled programs; HTML
    checks, _numerics, sharding   checks of what users pass; stable functions; many devices
    layers, weights     what a unit is; what W is kept as
    tables, sequences   tables of words, numbers and dates; alignments
    data, rbm           rows to learn from; the model: energy, free energy, conditionals, `.T`
    initialization, standardize, path, precision, single_site
    samplers            how states are drawn
    gauge, couplings, sharpen   p(v) with other parameters; what W means; lower temperatures
    missing, partition_function, io   missing values; ways to log Z; files and other packages
    gradients           how the likelihood climbs
    diagnostics, evaluation, sampling, likelihood, model_entropy   how good a model is
    training            the loop
    plot, report, sklearn, keras   pictures; pages; the scikit-learn and Keras interfaces
    runs                a run from a source to a folder
    cli                 the command

Names are found on first use, so that `harmonium --help` need not wait for JAX.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .couplings import Couplings as Couplings
    from .couplings import contact_scores as contact_scores
    from .couplings import effective_couplings as effective_couplings
    from .data import *
    from .diagnostics import *
    from .errors import HarmoniumError as HarmoniumError
    from .errors import InputError as InputError
    from .errors import Interrupted as Interrupted
    from .errors import MissingDependencyError as MissingDependencyError
    from .errors import ModelFileError as ModelFileError
    from .errors import NotConvergedWarning as NotConvergedWarning
    from .errors import NotFiniteError as NotFiniteError
    from .evaluation import *
    from .gauge import unit_hidden_variance as unit_hidden_variance
    from .gauge import unit_weight_norms as unit_weight_norms
    from .gauge import zero_sum as zero_sum
    from .gradients import *
    from .initialization import initialize as initialize
    from .io import load as load
    from .io import save as save
    from .layers import *
    from .likelihood import Automatic as Automatic
    from .likelihood import LogLikelihood as LogLikelihood
    from .likelihood import exact_kl as exact_kl
    from .likelihood import free_energies as free_energies
    from .likelihood import likelihood_from as likelihood_from
    from .likelihood import log_likelihood as log_likelihood
    from .likelihood import log_z as log_z
    from .missing import *
    from .model_entropy import Entropy as Entropy
    from .model_entropy import entropy as entropy
    from .partition_function import *
    from .path import AbstractPath as AbstractPath
    from .path import Heating as Heating
    from .path import History as History
    from .path import Line as Line
    from .precision import precision_timing as precision_timing
    from .precision import rounded as rounded
    from .rbm import RBM as RBM
    from .report.learning import watch_learning as watch_learning
    from .report.playing import Page as Page
    from .report.playing import play as play
    from .samplers import *
    from .sampling import condition as condition
    from .sampling import sample as sample
    from .sequences import Alignment as Alignment
    from .sequences import read_alignment as read_alignment
    from .sharding import use_mesh as use_mesh
    from .sharpen import sharpened as sharpened
    from .standardize import Standardization as Standardization
    from .standardize import standardization as standardization
    from .training import *
    from .weights import AbstractWeights as AbstractWeights
    from .weights import MaskedWeights as MaskedWeights
    from .weights import Rounded as Rounded
    from .weights import Scaled as Scaled

__version__ = "0.1.0"

_HOMES = (
    "errors",
    "layers",
    "weights",
    "data",
    "rbm",
    "sharding",
    "initialization",
    "standardize",
    "gauge",
    "couplings",
    "sharpen",
    "path",
    "precision",
    "io.storage",
    "samplers",
    "missing",
    "partition_function",
    "gradients",
    "diagnostics",
    "evaluation",
    "sampling",
    "likelihood",
    "model_entropy",
    "sequences.alignment",
    "training",
    "report.playing",
    "report.learning",
)
_INSIDE = ("io", "sequences", "tables")  # whose names are kept inside


def __getattr__(name: str) -> Any:
    """Find a public name in the module or package that offers it."""
    if name in _HOMES or name in _INSIDE:
        return import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        for home in _HOMES:
            module = import_module(f"{__name__}.{home}")
            if name in _public(module):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    names = [name for home in _HOMES for name in _public(import_module(f"{__name__}.{home}"))]
    return sorted({*globals(), *names})


def _public(module: ModuleType) -> list[str]:
    """Return a module's `__all__`, or all that a package re-exports."""
    names = [n for n, v in vars(module).items() if n[0] != "_" and not isinstance(v, ModuleType)]
    return getattr(module, "__all__", names)
