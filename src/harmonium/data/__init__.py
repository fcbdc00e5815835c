"""What a machine learns from: readers of files, built-in sets, and rows on the device."""

from .base import Table as Table
from .base import as_table as as_table
from .builtin import bars_and_stripes as bars_and_stripes
from .builtin import ising_configurations as ising_configurations
from .builtin import labelled_shifter as labelled_shifter
from .dataset import Dataset as Dataset
