"""Training data: file readers, built-in data sets, and storage of rows on the device."""

from .builtin import bars_and_stripes as bars_and_stripes
from .builtin import ising_configurations as ising_configurations
from .builtin import labelled_shifter as labelled_shifter
from .coding import as_table as as_table
from .dataset import Dataset as Dataset
from .dependences import dependence_tree as dependence_tree
from .groups import exclusive_groups as exclusive_groups
from .lattices import Thermodynamics as Thermodynamics
from .lattices import lattice_bonds as lattice_bonds
from .lattices import lattice_exact as lattice_exact
from .lattices import lattice_samples as lattice_samples
from .series import windows as windows
from .sources import open_source as open_source
from .splits import split_off as split_off
from .stream import Stream as Stream
from .table import Table as Table
