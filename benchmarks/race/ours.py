"""harmonium through its public calls, but annealing and enumeration without `hm.log_z`."""

import math

import jax
import jax.numpy as jnp
from timing import ContinuedRun
from workloads import CannotError, repeated

import harmonium as hm
from harmonium._base.threefry import key_of
from harmonium.likelihood.partition_function import enumerated
from harmonium.samplers.annealing import anneal, start_annealing
from harmonium.transforms.precision import rounded_if_faster


def device_mib():
    """Return the largest memory that was in use on the GPU, in MiB; None on a CPU."""
    statistics = jax.devices()[0].memory_stats()
    if not statistics:
        return None
    return statistics["peak_bytes_in_use"] / 2**20


def train(load, precision=None):
    """Make updates by complete calls of `hm.fit`, with all that it monitors."""
    visible = hm.Bernoulli(load.visible)
    if load.verb == "potts":
        visible = hm.Potts(load.visible, states=load.states)
    training = ContinuedRun(
        visible,
        load.hidden,
        load.data(),
        batch=load.batch,
        chains=load.batch,
        k=load.k,
        precision=precision,
    )

    def run(updates):
        epochs = math.ceil(updates / training.updates_per_epoch)
        training.train(epochs)
        return epochs * training.updates_per_epoch

    return run


potts = train


def model_of(load):
    """Return the model to sample from."""
    return hm.RBM.from_arrays(*load.model())


def only_once(precision):
    """Raise an error where the precision cannot be chosen."""
    if precision:
        raise CannotError("it has no choice of precision here")


def sample(load, precision=None):
    """Make sweeps of all chains by `hm.sample`."""
    only_once(precision)
    rbm = model_of(load)

    def run(sweeps):
        hm.sample(rbm, load.batch, key=jax.random.key(0), sampler=hm.Gibbs(1), steps=sweeps)
        return sweeps

    return run


def ais(load, precision=None):
    """Make steps of annealing, on the path of `hm.log_z`."""
    rbm = model_of(load)
    key = key_of(0)
    if precision is None:
        rbm = rounded_if_faster(rbm, load.batch)
    if precision == "bfloat16":
        rbm = hm.transforms.rounded(rbm)
    path = hm.path.Heating.from_neutral(rbm)

    @jax.jit
    def run_chains(steps, key):
        start = start_annealing(path, load.batch, key=key)
        return anneal(path, 0.0, 1.0, steps, start, key=key).log_weights.mean()

    def run(steps):
        run_chains(jnp.asarray(steps), key).block_until_ready()
        return steps

    return run


def log_z(load, precision=None):
    """Sum over all states of the hidden layer."""
    only_once(precision)
    rbm = model_of(load)
    total = jax.jit(enumerated.log_z)

    return repeated(lambda: total(rbm).block_until_ready(), 2**load.hidden)


def transform(load, precision=None):
    """Return the means of the hidden units given rows, by `harmonium.sklearn.BernoulliRBM`."""
    only_once(precision)
    from harmonium.sklearn import BernoulliRBM

    x = load.data()[: load.batch]
    model = BernoulliRBM(load.hidden, n_iter=1, random_state=0).fit(x[:200])
    return repeated(lambda: model.transform(x), len(x))
