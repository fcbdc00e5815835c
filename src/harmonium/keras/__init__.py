"""RBMs as Keras 3 models, on the TensorFlow, JAX and PyTorch backends."""

from .rbm import RBM as RBM
from .units import Bernoulli as Bernoulli
from .units import Gaussian as Gaussian
from .units import Ising as Ising
from .units import Potts as Potts
from .units import Unit as Unit
