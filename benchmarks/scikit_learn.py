"""harmonium's BernoulliRBM against scikit-learn's: features, portions, and gradients.

python benchmarks/scikit_learn.py digits --seeds 10     # accuracy and fit time
python benchmarks/scikit_learn.py portions              # `partial_fit` with 1,000 rows
python benchmarks/scikit_learn.py gradients             # draws docs/pictures/phases.png
"""

import json
import time
import warnings
from pathlib import Path

import jax
import numpy as np
from reporting import parser_of
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
        scaled = minmax_scale(np.concatenate([nudged(rows[train]), nudged(rows[test])]))
        count = 5 * len(train)
        return (scaled[:count], scaled[count:], np.tile(labels[train], 5), np.tile(labels[test], 5))
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
    scores = {"pixels": []} | {name: [] for name in kinds}
    seconds = {name: [] for name in kinds}
    for cls, more in kinds.values():
        cls(random_state=0, **rates, **more).fit(split(0, whole)[0])  # compiles
    for seed in range(seeds):
        train, test, y_train, y_test = split(seed, whole)
        scores["pixels"].append(accuracy(train, test, y_train, y_test, 100.0))
        for name, (cls, more) in kinds.items():
            started = time.perf_counter()
            estimator = cls(random_state=seed, **rates, **more).fit(train)
            seconds[name].append(time.perf_counter() - started)
            features = estimator.transform(train), estimator.transform(test)
            scores[name].append(accuracy(*features, y_train, y_test, 6000.0))
        words = "  ".join(f"{name} {values[-1]:.4f}" for name, values in scores.items())
        print(f"seed {seed}: {words}", flush=True)
    ratio = np.median(np.array(seconds["theirs"]) / np.array(seconds["ours"]))
    result = {k: {"mean": np.mean(v), "spread": np.std(v, ddof=1)} for k, v in scores.items()}
    result["seconds"] = {k: float(np.median(v)) for k, v in seconds.items()}
    return result | {"times faster": float(ratio), "seeds": seeds, "split before nudging": whole}


def portions(passes=100):
    """Return the features after 100 calls with 1,000 rows each, at the default batch size."""
    rows = load_digits().data[:1000] / 16
    results = {}
    for name, cls in (("theirs", Theirs), ("ours", Ours)):
        estimator = cls(64, random_state=0)
        for _ in range(passes):
            estimator.partial_fit(rows)
        features = estimator.transform(rows)
        score = estimator.score_samples(rows).mean()
        results[name] = {
            "least feature": float(features.min()),
            "spread over rows": float(features.std(0).mean()),
            "pseudo-likelihood": float(score),
        }
    return results


def likelihoods(seeds=6):
    """Return exact log-likelihoods of thresholded digits after equal passes, 16 hidden units."""
    rows = (load_digits().data > 8) * 1.0
    results = {}
    kinds = {"theirs": (Theirs, {}), "ours": (Ours, {})}
    kinds["ours, Recipe"] = (Ours, {"optimizer": hm.Recipe(rate=0.1)})
    for passes in (10, 50):
        for name, (cls, more) in kinds.items():
            estimators = (
                cls(16, n_iter=passes, random_state=s, **more).fit(rows) for s in range(seeds)
            )
            models = map(hm.io.from_sklearn, estimators)
            scores = [hm.log_likelihood(model, rows).value for model in models]
            results[f"{name}, {passes} passes"] = [float(np.mean(scores)), float(np.std(scores))]
    return results


def mean_update(cls, model, rows, chains, repeats):
    """Return the mean change of the weights in one call, divided by the rate, over many draws.

    The ten chains start at draws of the model, so that only the weights of the phases differ.
    """
    rate = 1e-3
    total = 0.0
    method = hm.Persistent(hm.Gibbs(1), chains=10)
    settings = {
        "optimizer": hm.Recipe(rate=rate, centring=None, averaging=None, hold=1.0),
        "batch_size": len(rows),
    }
    start = hm.training.begin(model, rows, key=jax.random.key(0), gradient=method, **settings)
    for seed in range(repeats):
        h = chains[10 * seed : 10 * seed + 10]
        if cls is Ours:
            estimator = Ours.from_harmonium(model, random_state=seed, method=method, **settings)
            gradient = start.gradient._replace(h=jax.numpy.array(h))
            estimator._state = start._replace(gradient=gradient)
        else:
            estimator = hm.io.to_sklearn(model)
            estimator.set_params(learning_rate=rate, batch_size=10, random_state=seed)
            estimator.h_samples_ = h.astype(float)
        before = estimator.components_.astype(float)
        estimator.partial_fit(rows)
        total = total + (estimator.components_ - before) / rate / repeats
    return total


def gradients():
    """Draw the mean update of each weight against the exact gradient, for several row counts."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    patterns = hm.bars_and_stripes(4)
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), patterns, key=key)
    model = hm.fit(rbm, patterns, key=key, gradient=hm.Exact(), epochs=300).rbm
    figure, axes = plt.subplots(
        1, 3, figsize=(9.5, 3.4), sharex=True, sharey=True, layout="constrained"
    )
    result = {}
    for axis, n in zip(axes, (10, 100, 1000), strict=True):
        rows = patterns[np.random.default_rng(n).integers(0, len(patterns), n)].astype(float)
        cloud = hm.samplers.Cloud.uniform(model.visible.encode(rows))
        exact = -np.asarray(hm.Exact().estimate(model, cloud, (), key=key)[0].weights).T
        draws = hm.sample(model, 4_000, key=jax.random.key(n))
        h = np.asarray(model.sample_h_from_v(model.visible.encode(draws), key=key), float)
        for name, cls, colour in (
            ("scikit-learn", Theirs, "#d55e00"),
            ("harmonium", Ours, "#0072b2"),
        ):
            update = mean_update(cls, model, rows, h, 400)
            error = np.linalg.norm(update - exact) / np.linalg.norm(exact)
            result[f"{name}, {n} rows"] = float(error)
            axis.plot(exact.ravel(), update.ravel(), ".", color=colour, ms=5, label=name, alpha=0.8)
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


PROGRAMS = {"portions": portions, "gradients": gradients, "likelihoods": likelihoods}


def main():
    parser = parser_of(__doc__, seeds=10)
    parser.add_argument("what", choices=["digits", *PROGRAMS])
    parser.add_argument("--split-first", action="store_true", help="split before nudging")
    args = parser.parse_args()
    if args.what == "digits":
        result = digits(args.seeds, args.split_first)
    else:
        result = PROGRAMS[args.what]()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
