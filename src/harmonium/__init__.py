"""harmonium: restricted Boltzmann machines, trained, sampled and honestly scored.

    import harmonium as hm

The storeys of the house, each importing only from those above it in this list:

    errors, _threefry   what users read when something is wrong; random numbers, quickly
    parameters          which arrays are parameters, and which are data
    checks, _numerics, orders   checks of what users pass; stable functions; orders of rows
    layers, data        what a unit is; what a machine learns from
    rbm                 the machine: energy, free energy, conditionals, `.T`
    initial, gauge, path, rounding, enumeration, statistics, moves, bridge, quantities, sources
    interop             other packages' objects to machines and back
    samplers, formats   how states are drawn; what a model file is
    courses, ladders, holes  journeys from independent machines and back; ladders; absent units
    gradients, evaluation, storage   how the likelihood climbs; how good a machine is; files
    sampling, imputation, likelihood, regimes   the public verbs that choose among those
    training            the loop
    plot, sklearn, keras   what people look at; the machine in others' manners
    runs                a run from a source to a folder
    cli                 the command

Names are found on first use, so that `harmonium --help` need not wait for JAX.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .data import *
    from .errors import HarmoniumError as HarmoniumError
    from .errors import InputError as InputError
    from .errors import Interrupted as Interrupted
    from .errors import MissingDependencyError as MissingDependencyError
    from .errors import ModelFileError as ModelFileError
    from .errors import NotFiniteError as NotFiniteError
    from .evaluation import *
    from .gauge import Standardization as Standardization
    from .gauge import standardization as standardization
    from .gradients import *
    from .imputation import Imputation as Imputation
    from .imputation import impute as impute
    from .initial import initialize as initialize
    from .ladders import LadderReport as LadderReport
    from .ladders import adapted_ladder as adapted_ladder
    from .ladders import ladder_report as ladder_report
    from .layers import *
    from .likelihood import Automatic as Automatic
    from .likelihood import finite_z as finite_z
    from .likelihood import free_energies as free_energies
    from .likelihood import log_likelihood as log_likelihood
    from .likelihood import log_z as log_z
    from .path import AbstractPath as AbstractPath
    from .path import Heating as Heating
    from .path import History as History
    from .path import Line as Line
    from .rbm import RBM as RBM
    from .regimes import Verdict as Verdict
    from .regimes import equilibrium as equilibrium
    from .rounding import multiplies_bfloat16 as multiplies_bfloat16
    from .rounding import rounded as rounded
    from .samplers import *
    from .sampling import condition as condition
    from .sampling import sample as sample
    from .sources import open_source as open_source
    from .sources import split_off as split_off
    from .storage import load as load
    from .storage import save as save
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
    "initial",
    "gauge",
    "path",
    "rounding",
    "storage",
    "sources",
    "samplers",
    "ladders",
    "gradients",
    "evaluation",
    "sampling",
    "imputation",
    "likelihood",
    "regimes",
    "training",
)
_ROOMS = ("interop",)  # whose names are kept inside


def __getattr__(name: str) -> Any:
    """Find a public name in the storey that offers it."""
    if name in _HOMES or name in _ROOMS:
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
    """Give a file's `__all__`, or all that a folder re-exports."""
    names = [n for n, v in vars(module).items() if n[0] != "_" and not isinstance(v, ModuleType)]
    return getattr(module, "__all__", names)
