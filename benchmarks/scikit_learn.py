"""harmonium's BernoulliRBM against scikit-learn's: features, portions, and gradients.

python benchmarks/scikit_learn.py digits --seeds 10     # accuracy and fit time
python benchmarks/scikit_learn.py portions              # `partial_fit` with 1,000 rows
python benchmarks/scikit_learn.py gradients             # draws docs/pictures/phases.png
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import jax
import numpy as np
from scipy.ndimage import shift
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM as Theirs
from sklearn.preprocessing import minmax_scale

import harmonium as hm
from harmonium.sklearn import BernoulliRBM as Ours

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
STEPS = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]


def nudged(rows):
    """Return the rows and four copies, each shifted by one pixel."""
    images = rows.reshape(-1, 8, 8)
    return np.concatenate([shift(images, (0, *by), order=0) for by in STEPS]).reshape(-1, 64)


def split(seed, whole):
    """Split shifted digits as scikit-learn's gallery does, or (`whole`) before they are shifted."""
    rows, labels = load_digits(return_X_y=True)
    chosen = np.arange(len(rows))
    if whole:
        train, test = train_test_split(chosen, test_size=0.2, random_state=seed)
        parts = [(nudged(rows[part]), np.tile(labels[part], 5)) for part in (train, test)]
        (a, y_a), (b, y_b) = parts
        scaled = minmax_scale(np.concatenate([a, b]))
        return scaled[: len(a)], scaled[len(a) :], y_a, y_b
    scaled = minmax_scale(nudged(rows))
    return train_test_split(scaled, np.tile(labels, 5), test_size=0.2, random_state=seed)


def accuracy(train, test, y_train, y_test, cost):
    """Fit a logistic regression to convergence, and return the share of correct labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = LogisticRegression(C=cost, solver="newton-cholesky", max_iter=500).fit(
            train, y_train
        )
    return estimator.score(test, y_test)


def digits(seeds, whole):
    """Return accuracies on features of both classes and on pixels, and the seconds of fits."""
    rates = {"n_components": 100, "learning_rate": 0.06, "n_iter": 10}
    recipe = {"optimizer": hm.Recipe(rate=rates["learning_rate"])}
    kinds = {"theirs": (Theirs, {}), "ours": (Ours, {}), "ours, Recipe": (Ours, recipe)}
    found = {"pixels": []} | {name: [] for name in kinds}
    seconds = {name: [] for name in kinds}
    for seed in range(seeds):
        train, test, y_train, y_test = split(seed, whole)
        if not seed:
            for cls, more in kinds.values():
                cls(random_state=seed, **rates, **more).fit(train)  # compiles
        found["pixels"].append(accuracy(train, test, y_train, y_test, 100.0))
        for name, (cls, more) in kinds.items():
            began = time.perf_counter()
            estimator = cls(random_state=seed, **rates, **more).fit(train)
            seconds[name].append(time.perf_counter() - began)
            features = estimator.transform(train), estimator.transform(test)
            found[name].append(accuracy(*features, y_train, y_test, 6000.0))
        print(
            f"seed {seed}: " + "  ".join(f"{k} {v[-1]:.4f}" for k, v in found.items()), flush=True
        )
    ratio = np.median(np.array(seconds["theirs"]) / np.array(seconds["ours"]))
    result = {k: {"mean": np.mean(v), "spread": np.std(v, ddof=1)} for k, v in found.items()}
    result["seconds"] = {k: float(np.median(v)) for k, v in seconds.items()}
    return result | {"times faster": float(ratio), "seeds": seeds, "split before nudging": whole}


def portions(passes=100):
    """Return the features after 100 calls with 1,000 rows each, at the default batch size."""
    rows = load_digits().data[:1000] / 16
    found = {}
    for name, cls in (("theirs", Theirs), ("ours", Ours)):
        estimator = cls(64, random_state=0)
        for _ in range(passes):
            estimator.partial_fit(rows)
        features, score = estimator.transform(rows), estimator.score_samples(rows).mean()
        extremes = {"least feature": features.min(), "spread over rows": features.std(0).mean()}
        found[name] = {k: float(v) for k, v in extremes.items()}
        found[name]["pseudo-likelihood"] = float(score)
    return found


def likelihoods(seeds=6):
    """Return exact log-likelihoods of thresholded digits after equal passes, 16 hidden units."""
    rows, found = (load_digits().data > 8) * 1.0, {}
    kinds = {"theirs": (Theirs, {}), "ours": (Ours, {})}
    kinds["ours, Recipe"] = (Ours, {"optimizer": hm.Recipe(rate=0.1)})
    for passes in (10, 50):
        for name, (cls, more) in kinds.items():
            estimators = (
                cls(16, n_iter=passes, random_state=s, **more).fit(rows) for s in range(seeds)
            )
            models = map(hm.io.from_sklearn, estimators)
            scores = [hm.log_likelihood(model, rows).value for model in models]
            found[f"{name}, {passes} passes"] = [float(np.mean(scores)), float(np.std(scores))]
    return found


def mean_update(cls, model, rows, chains, repeats):
    """Return the mean change of the weights in one call, divided by the rate, over many draws.

    The ten chains start at draws of the model, so that only the weights of the phases differ.
    """
    rate, total = 1e-3, 0.0
    plain = hm.Recipe(rate=rate, centring=None, averaging=None, hold=1.0)
    method = hm.Persistent(hm.Gibbs(1), chains=10)
    learning = {"gradient": method, "optimizer": plain, "batch_size": len(rows)}
    begun = hm.begin(model, rows, key=jax.random.key(0), **learning)
    for seed in range(repeats):
        here = chains[10 * seed : 10 * seed + 10]
        if cls is Ours:
            settings = {"optimizer": plain, "method": method, "batch_size": len(rows)}
            estimator = Ours.from_harmonium(model, random_state=seed, **settings)
            estimator._state = begun._replace(
                gradient=begun.gradient._replace(h=jax.numpy.array(here))
            )
        else:
            estimator = hm.io.to_sklearn(model)
            estimator.set_params(learning_rate=rate, batch_size=10, random_state=seed)
            estimator.h_samples_ = here.astype(float)
        before = estimator.components_.astype(float)
        estimator.partial_fit(rows)
        total = total + (estimator.components_ - before) / rate / repeats
    return total


def gradients():
    """Draw the mean update of each weight against the exact gradient, for several row counts."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    patterns, key = hm.bars_and_stripes(4), jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), patterns, key=key)
    model = hm.fit(rbm, patterns, key=key, gradient=hm.Exact(), epochs=300).rbm
    figure, axes = plt.subplots(
        1, 3, figsize=(9.5, 3.4), sharex=True, sharey=True, layout="constrained"
    )
    result = {}
    for axis, n in zip(axes, (10, 100, 1000), strict=True):
        rows = patterns[np.random.default_rng(n).integers(0, len(patterns), n)].astype(float)
        cloud = hm.Cloud.uniform(model.visible.encode(rows))
        exact = -np.asarray(hm.Exact().estimate(model, cloud, (), key=key)[0].weights).T
        draws = hm.sample(model, 4_000, key=jax.random.key(n))
        h = np.asarray(model.sample_h_from_v(model.visible.encode(draws), key=key), float)
        for name, cls, colour in (
            ("scikit-learn", Theirs, "#d55e00"),
            ("harmonium", Ours, "#0072b2"),
        ):
            found = mean_update(cls, model, rows, h, 400)
            error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
            result[f"{name}, {n} rows"] = float(error)
            axis.plot(exact.ravel(), found.ravel(), ".", color=colour, ms=5, label=name, alpha=0.8)
        limits = np.array([exact.min(), exact.max()])
        axis.plot(limits, limits, "k-", lw=0.8, zorder=0)
        axis.set_title(f"{n:,} rows in a call", fontsize=10)
        axis.set_xlabel("exact gradient of a weight")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean update ÷ rate")
    figure.suptitle(
        "harmonium follows the exact gradient; scikit-learn only with ten rows", fontsize=11
    )
    axes[0].legend(frameon=False, loc="upper left", handletextpad=0.2)
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / "phases.png", dpi=130)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["digits", "portions", "gradients", "likelihoods"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--split-first", action="store_true", help="split before nudging")
    options = parser.parse_args()
    if options.what == "digits":
        result = digits(options.seeds, options.split_first)
    else:
        result = {"portions": portions, "gradients": gradients, "likelihoods": likelihoods}[
            options.what
        ]()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
