"""Plots of a model and its training as matplotlib figures."""

from .annealing import annealing_runs as annealing_runs
from .autocorrelation import autocorrelations as autocorrelations
from .base import save_figure as save_figure
from .curves import learning_curves as learning_curves
from .free_energies import energies as energies
from .grid import image_grid as image_grid
from .hidden_units import filters as filters
from .moments import means as means
from .parameters import weight_histogram as weight_histogram
from .planes import pca_plane as pca_plane
from .samples import samples_beside_data as samples_beside_data
from .sequences import contact_map as contact_map
from .sequences import mutation_map as mutation_map
from .sequences import weight_logos as weight_logos
from .tables import columns_beside_data as columns_beside_data
from .tables import dependence as dependence
