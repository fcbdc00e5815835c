"""Types of layers; most modules define one type, which is a subclass of `AbstractLayer`."""

from .base import AbstractLayer as AbstractLayer
from .base import AbstractUnits as AbstractUnits
from .bernoulli import Bernoulli as Bernoulli
from .binomial import Binomial as Binomial
from .categorical import Categorical as Categorical
from .clamped import Clamped as Clamped
from .clamped import Masked as Masked
from .conditional import Conditional as Conditional
from .discrete import AbstractDiscrete as AbstractDiscrete
from .drelu import DReLU as DReLU
from .exclusive import Exclusive as Exclusive
from .gaussian import Gaussian as Gaussian
from .ising import Ising as Ising
from .mixed import Mixed as Mixed
from .mixture import Mixture as Mixture
from .multivariate_gaussian import MultivariateGaussian as MultivariateGaussian
from .partial import AbstractPartial as AbstractPartial
from .poisson import Poisson as Poisson
from .potts import Potts as Potts
from .registry import register_layer as register_layer
from .relu import ReLU as ReLU
from .replicated_softmax import ReplicatedSoftmax as ReplicatedSoftmax
from .tree import Tree as Tree
from .unit_interval import UnitInterval as UnitInterval
