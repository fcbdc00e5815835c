"""Published runs of other packages, repeated with harmonium: their figures beside its own.

    python benchmarks/published.py pydeep [--seeds 10]     784×16 on MNIST, exact log-likelihood
    python benchmarks/published.py shark  [--seeds 20]     bars and stripes 4×4

`pydeep` needs the reference data: set HARMONIUM_DATA to its folder.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
from reference_data import grey_mnist
from reporting import parser_of

import harmonium as hm

PYDEEP = {  # (centred, flipped): published train and test, from one run each
    (True, False): (-143.150, -142.564),
    (False, False): (-149.605, -149.053),
    (True, True): (-142.813, -142.087),
    (False, True): (-183.259, -183.360),
}
SHARK = (192.544, 3.3, 10)  # mean of the negative sum, spread of a run, number of runs
SHARK_BELOW = 200  # the bound in the tests of its persistent and tempered training


def thresholded_mnist(flipped: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return MNIST's training and test rows, 1 where the grey level is at least one half."""
    train, _ = grey_mnist("train")
    test, _ = grey_mnist("test")
    return ((train >= 128) ^ flipped).astype(np.uint8), ((test >= 128) ^ flipped).astype(np.uint8)


def pydeep_run(train, test, centred: bool, seed: int) -> tuple[float, float]:
    """Train as PyDeep's `RBM_MNIST_small` does: 50 epochs of PCD-1 at 0.01, batches of 100."""
    key_init, key_run = jax.random.split(jax.random.key(seed))
    visible = hm.Bernoulli(784)
    hidden = hm.Bernoulli(16)
    bound = 4.0 * np.sqrt(6.0 / (784 + 16))
    weights = jax.random.uniform(key_init, (784, 16), minval=-bound, maxval=bound)
    fitted = visible.fit_moments(jnp.asarray(train, jnp.float32))
    centring = None
    if centred:  # the biases of PyDeep's centred model act on v − μ and h − λ
        centring = 0.01
        mean = jnp.asarray(train.mean(0), jnp.float32)
        fitted = fitted.shift(-weights.sum(1) / 2)
        hidden = hidden.shift(-mean @ weights)
    rbm = hm.RBM(fitted, hidden, weights)
    method = hm.Persistent(hm.Gibbs(1), chains=100)
    recipe = hm.Recipe(rate=0.01, centring=centring, averaging=None, hold=1.0)
    settings = {"gradient": method, "optimizer": recipe, "epochs": 50, "batch_size": 100}
    fit = hm.fit(rbm, train, key=key_run, **settings)
    log_z = hm.log_z(fit.rbm)
    score = hm.log_likelihood(fit.rbm, train, log_z=log_z)
    test_score = hm.log_likelihood(fit.rbm, test, log_z=log_z)
    return score.value, test_score.value


def pydeep(seeds: int) -> None:
    """Compare with PyDeep's four runs."""
    print("784×16 on MNIST thresholded at one half, exact log-likelihood, nats per row")
    for (centred, flipped), published in PYDEEP.items():
        train, test = thresholded_mnist(flipped)
        started = time.perf_counter()
        scores = np.array([pydeep_run(train, test, centred, seed) for seed in range(seeds)])
        seconds = (time.perf_counter() - started) / seeds
        name = "centred" if centred else "plain"
        if flipped:
            name += ", flipped"
        for column, part in enumerate(("train", "test")):
            ours = scores[:, column]
            theirs = published[column]
            nearest = np.abs(ours - theirs).min()
            print(
                f"  {name:17s} {part:5s} published {theirs:9.3f}, ours {ours.mean():9.3f}"
                f" ± {ours.std(ddof=1):.3f} ({ours.min():.3f} to {ours.max():.3f}),"
                f" mean off by {ours.mean() - theirs:+.3f}, nearest run by {nearest:.3f}",
                flush=True,
            )
        print(f"  {'':17s} {seconds:.0f} s a run", flush=True)


def bars_sum(rbm: hm.RBM, rows: np.ndarray) -> float:
    """Return the exact −Σ log p over the rows."""
    return -len(rows) * hm.log_likelihood(rbm, rows).value


def shark_run(gradient, rate: float, updates: int, seed: int, hidden: int = 32) -> float:
    """Train on all 32 patterns in every update, from weights and biases drawn from U(−0.1, 0.1)."""
    rows = hm.bars_and_stripes(4)
    keys = jax.random.split(jax.random.key(seed), 4)
    shapes = ((16, hidden), (16,), (hidden,))
    pairs = zip(keys, shapes, strict=False)
    rbm = hm.RBM.from_arrays(
        *(jax.random.uniform(key, shape, minval=-0.1, maxval=0.1) for key, shape in pairs)
    )
    recipe = hm.Recipe(rate=rate, centring=None, averaging=None, hold=1.0)
    settings = {"gradient": gradient, "optimizer": recipe, "batch_size": len(rows)}
    fit = hm.fit(rbm, rows, key=keys[3], epochs=updates, **settings)
    return bars_sum(fit.rbm, rows)


def shark(seeds: int) -> None:
    """Compare with Shark's tutorial on bars and stripes, and train by the exact gradient."""
    cd = np.array([shark_run(hm.Contrastive(hm.Gibbs(1)), 0.1, 1_000, s) for s in range(seeds)])
    mean, spread, runs = SHARK
    error = np.sqrt(cd.var(ddof=1) / seeds + spread**2 / runs)
    print(
        f"bars and stripes 4×4, 32 hidden, CD-1 at 0.1, 1,000 updates: −Σ log p of 32 patterns\n"
        f"  Shark {mean} (mean of {runs}), ours {cd.mean():.3f} ± {cd.std(ddof=1):.2f}"
        f" (mean of {seeds}), {(cd.mean() - mean) / error:+.2f} standard errors apart"
    )
    exact = np.array([shark_run(hm.Exact(), 0.2, 2_000, s) for s in range(3)])
    print(
        f"  exact gradient at 0.2, 2,000 updates: Σ log p = {-exact.max():.3f} to"
        f" {-exact.min():.3f}; the bound is −108.131"
    )
    for name, method, rate, updates in (
        ("PCD-1", hm.Persistent(hm.Gibbs(1), chains=32), 0.05, 5_001),
        ("5 temperatures", hm.Persistent(hm.ReplicaExchange(times=5), chains=32), 0.1, 3_001),
    ):
        sums = np.array([shark_run(method, rate, updates, s, hidden=8) for s in range(seeds)])
        print(
            f"  8 hidden, {name} at {rate}, {updates:,} updates: {sums.mean():.2f} ±"
            f" {sums.std(ddof=1):.2f} ({sums.min():.2f} to {sums.max():.2f});"
            f" Shark asks for less than {SHARK_BELOW}"
        )


def main() -> None:
    parser = parser_of(__doc__, seeds=10)
    parser.add_argument("what", choices=("pydeep", "shark"))
    args = parser.parse_args()
    {"pydeep": pydeep, "shark": shark}[args.what](args.seeds)


if __name__ == "__main__":
    main()
