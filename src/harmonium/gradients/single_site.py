"""Objectives without chains, which compare each row with states that differ in a single unit."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import proposals_from
from ..rbm import RBM
from ..samplers import Cloud
from ..samplers.single_site import Neighbours, neighbours_of, unit_surprisals, units_of_proposals
from .base import About, AbstractGradient, Estimate, phase_info


class AbstractSingleSite(AbstractGradient):
    """An objective based on log p(v′) − log p(v), where v′ differs from v in one unit.

    Z cancels, so there are no chains, and the choice of the batch is the only source of noise. The
    log odds of all states v′ of a row together cost about as much as one product with W. The
    relative weights of distant modes are not learned.

    Example:
        >>> class Flow(hm.gradients.AbstractSingleSite):
        ...     title = "flow"
        ...     def of_rows(self, neighbours):
        ...         return jnp.exp(0.5 * neighbours.log_odds).sum(0)
        >>> free = hm.RBM.from_arrays(np.zeros((2, 2)), [0.0, 0.0], [0.0, 0.0])
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]]))
        >>> _, _, info = Flow().estimate(free, batch, (), key=jax.random.key(0))
        >>> float(info.gap)  # two neighbours, as likely as the row
        2.0
    """

    title: eqx.AbstractClassVar[str]

    @property
    def about(self) -> About:
        """The properties of an objective that is not the likelihood and has no term ⟨F⟩_data."""
        return About(self.title, follows_likelihood=False, data_share=0.0)

    def units_of(self, visible: AbstractLayer) -> Sequence[int] | None:
        """Return the units whose single-site proposals are used, or None for all units."""
        return None

    @abstractmethod
    def of_rows(self, neighbours: Neighbours) -> Float[Array, " n"]:
        """Return the objective of each row from the log odds of its neighbours."""

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[()]:
        if rbm.visible.n_states is None:
            raise InputError(
                f"{self.title}: expected a discrete visible layer, since continuous units have no"
                f" single-site proposals; got {rbm.visible}; choose another method, such as"
                " hm.Persistent(hm.Gibbs(1))."
            )
        return ()

    def estimate(self, rbm: RBM, batch: Cloud, state: tuple[()], *, key: PRNGKeyArray) -> Estimate:
        rows, weights, _ = jax.lax.stop_gradient(batch)

        def objective(rbm: RBM) -> Array:
            return weights @ self.of_rows(neighbours_of(rbm, rows, self.units_of(rbm.visible)))

        value, grads = eqx.filter_value_and_grad(objective)(rbm)
        return grads, state, phase_info(rbm, batch, value)


class PseudoLikelihood(AbstractSingleSite):
    """Maximum pseudo-likelihood: ascent on Σ_i log p(v_i | all other units).

    Example:
        >>> free = hm.RBM.from_arrays(np.zeros((2, 2)), [0.0, 0.0], [0.0, 0.0])
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]]))
        >>> _, _, info = hm.PseudoLikelihood().estimate(free, batch, (), key=jax.random.key(0))
        >>> round(float(info.gap), 3)  # 2 log 2
        1.386

    Source: Besag 1975; Marlin, Swersky, Chen & de Freitas 2010.
    """

    title: ClassVar[str] = "pseudo-likelihood"

    def of_rows(self, neighbours: Neighbours) -> Float[Array, " n"]:
        """Return −Σ_i log p(v_i | rest)."""
        return unit_surprisals(neighbours).sum(0)


class Discriminative(AbstractSingleSite):
    """Discriminative training: ascent on log p(label | all other units) for a visible label unit.

    For a model of (v, y) this is log p(y | v), exactly and without Z:

        log p(y | v) = b_y + Γ_h(vW + W_y) − log Σ_y′ e^(b_y′ + Γ_h(vW + W_y′)).

    Here b_y and W_y are the bias and the weights of label y, and Γ_h is the log of the sum over
    hidden states. For several labels the objective is the sum over the labels, each given all other
    units, including the other labels. The distribution of v is not learned; `WeightedSum` can add a
    generative term that learns it. The other units may be of any type.

    Attributes:
        target: the index of the label's unit, or several indices; negative indices count from the
            end.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]]))  # the label comes last
        >>> method = hm.Discriminative()
        >>> _, _, info = method.estimate(rbm, batch, (), key=jax.random.key(0))
        >>> round(float(info.gap), 3)  # −log p(v_1 = 1 | v_0 = 1)
        0.223

    Source: Larochelle & Bengio 2008.
    """

    title: ClassVar[str] = "discriminative"
    target: int | tuple[int, ...] = eqx.field(static=True, default=-1)

    @property
    def targets(self) -> tuple[int, ...]:
        """The indices of the labels, as given."""
        return self.target if isinstance(self.target, tuple) else (self.target,)

    def units_of(self, visible: AbstractLayer) -> tuple[int, ...]:
        """Return the indices of the labels, counted from the beginning."""
        return tuple(unit % visible.n_units for unit in self.targets)

    def of_rows(self, neighbours: Neighbours) -> Float[Array, " n"]:
        """Return −Σ log p(label | rest)."""
        return unit_surprisals(neighbours).sum(0)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[()]:
        count = rbm.visible.n_units
        if not self.targets or any(not -count <= unit < count for unit in self.targets):
            raise InputError(
                f"target: expected indices of the {count} visible units; got {self.target}."
            )
        movable = units_of_proposals(rbm.visible, proposals_from(rbm.visible, batch.states[:1])[0])
        for unit in self.units_of(rbm.visible):
            if unit not in movable:
                raise InputError(
                    f"target: expected a discrete unit; got unit {unit} of {rbm.visible}, which has"
                    " no other states to compare with; use an hm.Potts unit for the label."
                )
        return ()


class RatioMatching(AbstractSingleSite):
    """Ratio matching: descent on the Brier scores of predictions of each unit from all others.

    The score of unit i is ½ Σ_a (δ(a, v_i) − p(a | all other units))², where the sum runs over its
    states a. For a unit of two states, the score is (1 − p(v_i | all other units))².

    Example:
        >>> free = hm.RBM.from_arrays(np.zeros((2, 2)), [0.0, 0.0], [0.0, 0.0])
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]]))
        >>> _, _, info = hm.RatioMatching().estimate(free, batch, (), key=jax.random.key(0))
        >>> float(info.gap)  # (1 − ½)² for each of two units
        0.5

    Source: Hyvärinen 2007; Marlin, Swersky, Chen & de Freitas 2010.
    """

    title: ClassVar[str] = "ratio matching"

    def of_rows(self, neighbours: Neighbours) -> Float[Array, " n"]:
        """Return the Brier score of each row, summed over units."""
        places = jnp.asarray(neighbours.units)
        count = neighbours.n_units
        others = jnp.exp(neighbours.log_odds - unit_surprisals(neighbours)[places])
        missed = jax.ops.segment_sum(others, places, count)
        return 0.5 * (missed**2 + jax.ops.segment_sum(others**2, places, count)).sum(0)


class ProbabilityFlow(AbstractSingleSite):
    """Minimum probability flow: descent on the sum of e^((F(v) − F(v′))/2) over neighbours v′ of v.

    The neighbours of v are the states that differ from v in one unit. Neighbours that are
    themselves data rows are not excluded; with many columns, they are rare.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]]))
        >>> _, _, info = hm.ProbabilityFlow().estimate(rbm, batch, (), key=jax.random.key(0))
        >>> energies = hm.free_energies(rbm, np.array([[1, 1], [0, 1], [1, 0]]))
        >>> flow = np.exp((energies[0] - energies[1:]) / 2).sum()  # to the two neighbours of (1, 1)
        >>> round(float(info.gap), 3), round(float(flow), 3)
        (1.544, 1.544)

    Source: Sohl-Dickstein, Battaglino & DeWeese 2011.
    """

    title: ClassVar[str] = "minimum probability flow"

    def of_rows(self, neighbours: Neighbours) -> Float[Array, " n"]:
        """Return the probability flow out of each row."""
        return jnp.exp(0.5 * neighbours.log_odds).sum(0)
