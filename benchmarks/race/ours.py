"""harmonium through its public calls, but annealing and enumeration without `hm.log_z`."""

import jax
import jax.numpy as jnp
from workloads import CannotError, repeated

import harmonium as hm
from harmonium._threefry import key_of
from harmonium.partition_function import enumerated
from harmonium.precision import rounded_if_faster
from harmonium.samplers.annealing import anneal, start_annealing

PLAIN = hm.Recipe(rate=0.01, centring=None, averaging=None, hold=1.0)


def device_mib():
    """Return the largest memory that was in use on the GPU, in MiB; None on a CPU."""
    found = jax.devices()[0].memory_stats()
    return found["peak_bytes_in_use"] / 2**20 if found else None


def train(load, precision=None):
    """Make updates by complete calls of `hm.fit`, with all that it monitors."""
    x, key = load.data(), jax.random.key(0)
    binary = load.verb == "train"
    visible = hm.Bernoulli(load.visible) if binary else hm.Potts(load.visible, states=load.states)
    rbm = hm.initialize(visible, hm.Bernoulli(load.hidden), x, key=key)
    data, per_epoch = hm.Dataset(x), -(-len(x) // load.batch)
    given = {
        "gradient": hm.Persistent(hm.Gibbs(load.k), chains=load.batch),
        "optimizer": PLAIN(10**9),
        "batch_size": load.batch,
        "precision": precision,
    }
    done = {"epochs": 0, "state": None}

    def run(updates):
        epochs = -(-updates // per_epoch)
        done["epochs"] += epochs
        fitted = hm.fit(rbm, data, key=key, epochs=done["epochs"], state=done["state"], **given)
        done["state"] = jax.block_until_ready(fitted.state)
        return epochs * per_epoch

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
    rbm, key = model_of(load), key_of(0)
    if precision is None:
        rbm = rounded_if_faster(rbm, load.batch)
    path = hm.Heating.from_neutral(hm.rounded(rbm) if precision == "bfloat16" else rbm)

    @jax.jit
    def run_chains(steps, key):
        begun = start_annealing(path, load.batch, key=key)
        return anneal(path, 0.0, 1.0, steps, begun, key=key).log_weights.mean()

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
