"""How well and how fast 500 hidden units learn MNIST: search, training, scores, picture.

    python benchmarks/mnist.py search [NAME ...]          trials on 50,000 rows, scored on 10,000
    python benchmarks/mnist.py train FOLDER NAME ...      models of all 60,000 rows, with times
    python benchmarks/mnist.py peer FOLDER scikit-learn --seconds 900 [--rate 0.05 --batch 100]
    python benchmarks/mnist.py score FOLDER [--part test]  every model in it, lower and upper
    python benchmarks/mnist.py draw FOLDER PICTURE        likelihood over wall-clock time

The rows are those of the fixed binarisation (`binarized_mnist.npz`), or MNIST's grey levels, from
which pixels are drawn at each visit. The search uses the first 50,000 rows of the training set and
is scored on the last 10,000; test rows are used once, by `score`. Set HARMONIUM_DATA to the folder
of reference data. `draw` also takes
docs/measured/mnist.json, the records of docs/results.md.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from reference_data import binarised_mnist, grey_mnist
from reporting import parser_of, row
from scipy.ndimage import affine_transform

import harmonium as hm
from harmonium.io.convert import from_sklearn
from harmonium.plot.base import BLUE, GREY, ORANGE, TEXT, label, new_figure, save_figure

HIDDEN = 500
SEARCHED = 50_000
SECONDS_TO_SCORE = 120.0


class Trial(NamedTuple):
    """A training run; other settings are the defaults of the library.

    Attributes:
        updates: the number of updates.
        batch: rows in a batch.
        chains: the number of PCD chains.
        k: sweeps in an update.
        is_fixed: whether pixels come from the fixed binarisation.
        deformed: the number of additional, slightly deformed copies of each row.
        recipe: arguments of `hm.Recipe`.
        late: further updates by another method, over which the rate falls.
    """

    updates: int = 10_000
    batch: int = 200
    chains: int = 500
    k: int = 1
    is_fixed: bool = False
    deformed: int = 0
    recipe: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    late: tuple[int, Any] | None = None


TRIALS = {
    "rate 0.1": Trial(recipe={"rate": 0.1}),
    "rate 0.2": Trial(recipe={"rate": 0.2}),
    "rate 0.4": Trial(recipe={"rate": 0.4}),
    "rate 0.8": Trial(recipe={"rate": 0.8}),
    "rate 0.4, three times as long": Trial(30_000, recipe={"rate": 0.4}),
    "30,000 updates, decay 1e-4": Trial(30_000, recipe={"rate": 0.4, "decay": 1e-4}),
    "30,000 updates, decay 2e-4": Trial(30_000, recipe={"rate": 0.4, "decay": 2e-4}),
    "30,000 updates, L1 2e-5": Trial(30_000, recipe={"rate": 0.4, "penalties": (hm.L1(2e-5),)}),
    "30,000 updates, L1 6e-5": Trial(30_000, recipe={"rate": 0.4, "penalties": (hm.L1(6e-5),)}),
    "30,000 updates, a deformed copy of each row": Trial(30_000, deformed=1, recipe={"rate": 0.4}),
    "20,000 updates, then 5,000 with k 5": Trial(
        20_000, recipe={"rate": 0.4}, late=(5_000, hm.Persistent(hm.Gibbs(5), 500))
    ),
    "20,000 updates, then 4,000 with replica exchange": Trial(
        20_000, recipe={"rate": 0.4}, late=(4_000, hm.Tempering(models=5, chains=200))
    ),
    "fixed binarisation, rate 0.1": Trial(is_fixed=True, recipe={"rate": 0.1}),
    "fixed binarisation, rate 0.2": Trial(is_fixed=True, recipe={"rate": 0.2}),
    **{
        f"fixed binarisation, L1 {strength}": Trial(
            is_fixed=True, recipe={"rate": 0.4, "penalties": (hm.L1(float(strength)),)}
        )
        for strength in ("1e-4", "2e-4", "4e-4", "8e-4")
    },
    "fixed binarisation, decay 3e-4": Trial(is_fixed=True, recipe={"rate": 0.4, "decay": 3e-4}),
    "fixed binarisation, decay 1e-3": Trial(is_fixed=True, recipe={"rate": 0.4, "decay": 1e-3}),
    "rate 0.4, falls from 1/5 on": Trial(recipe={"rate": 0.4, "hold": 0.2}),
    "rate 0.6, falls from 1/4 on": Trial(recipe={"rate": 0.6, "hold": 0.25}),
    "rate 0.4, averages longer (0.3)": Trial(recipe={"rate": 0.4, "averaging": 0.3}),
    "rate 0.4, averages less (0.05)": Trial(recipe={"rate": 0.4, "averaging": 0.05}),
    "rate 0.4, decay 3e-5": Trial(recipe={"rate": 0.4, "decay": 3e-5}),
    "rate 0.4, fixed binarisation": Trial(is_fixed=True, recipe={"rate": 0.4}),
    "batch 100, 100 chains, rate 0.1": Trial(20_000, 100, 100, recipe={"rate": 0.1}),
    "batch 100, 100 chains, rate 0.2": Trial(20_000, 100, 100, recipe={"rate": 0.2}),
    "batch 100, 100 chains, rate 0.4": Trial(20_000, 100, 100, recipe={"rate": 0.4}),
    "batch 50, 100 chains, rate 0.1": Trial(25_000, 50, 100, recipe={"rate": 0.1}),
    "batch 500, 500 chains, rate 0.2": Trial(7_000, 500, 500, recipe={"rate": 0.2}),
    "batch 100, 500 chains, rate 0.4": Trial(11_000, 100, 500, recipe={"rate": 0.4}),
    "batch 200, 1,000 chains, rate 0.6": Trial(6_000, 200, 1_000, recipe={"rate": 0.6}),
}
RECORDS = {  # trained on all rows, and not part of the search
    "200,000 updates, L1 5e-5": Trial(200_000, recipe={"rate": 0.4, "penalties": (hm.L1(5e-5),)}),
    "12,000 updates, fixed binarisation, L1 2e-4": TRIALS["fixed binarisation, L1 2e-4"]._replace(
        updates=12_000
    ),
}


def rows_of(part: str, is_fixed: bool) -> hm.Dataset:
    """Return rows: "searched" (the first 50,000), "judge" (the last 10,000), "all" or "test"."""
    if is_fixed or part in ("judge", "test"):
        archives = {"searched": ["train"], "judge": ["valid"], "all": ["train", "valid"]}
        parts = [binarised_mnist(name) for name in archives.get(part, ["test"])]
        return hm.Dataset(np.concatenate(parts))
    grey, _ = grey_mnist()
    if part == "searched":
        grey = grey[:SEARCHED]
    return hm.Dataset(grey, scale=255, stochastic=True)


def learned(trial: Trial, part: str, seed: int = 0) -> tuple[hm.RBM, float]:
    """Train; return the model and the seconds of `fit`, compiling included."""
    rows = rows_of(part, trial.is_fixed)
    key = jax.random.key(seed)
    start = rows.rows(key=key)
    rbm = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(HIDDEN), start, key=key)
    if trial.deformed:
        rows = with_deformed(rows, trial.deformed)
    method = hm.Persistent(hm.Gibbs(trial.k), trial.chains)
    phases = [(trial.updates, method, {})]
    if trial.late is not None:  # the rate falls in the second phase alone
        phases = [
            (trial.updates, method, {"hold": 1.0, "averaging": None}),
            (*trial.late, {"hold": 0.0}),
        ]
    started = time.perf_counter()
    for updates, gradient, schedule in phases:
        recipe = hm.Recipe(**trial.recipe | schedule)
        epochs = round(updates * trial.batch / len(rows))
        settings = {"gradient": gradient, "epochs": epochs, "batch_size": trial.batch}
        rbm = hm.fit(rbm, rows, key=key, optimizer=recipe, **settings).rbm
    return jax.block_until_ready(rbm), time.perf_counter() - started


def with_deformed(rows: hm.Dataset, copies: int) -> hm.Dataset:
    """Add copies of digits rotated by about 3°, and slightly stretched, sheared and shifted."""
    grey = np.asarray(rows.values(0, len(rows))) * rows.scale
    rng = np.random.default_rng(0)
    centre = np.full(2, 13.5)
    pictures = [grey]
    for _ in range(copies):
        deformed = []
        for picture in grey.reshape(-1, 28, 28):
            angle = np.radians(rng.normal(0, 3))
            shear, *stretch = rng.normal(0, 0.03, 3)
            rotation = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            matrix = np.array(rotation) @ [[1, shear], [0, 1]] @ np.diag(np.exp(stretch))
            offset = centre - matrix @ centre + rng.normal(0, 0.3, 2)
            deformed.append(affine_transform(picture, matrix, offset, order=3).ravel())
        pictures.append(np.clip(deformed, 0, 255).round())
    return hm.Dataset(np.concatenate(pictures).astype(np.uint8), scale=255, stochastic=True)


class Score(NamedTuple):
    """The log-likelihood of rows, nats per row.

    Attributes:
        value: Bennett's estimate.
        below: by log Z from the reverse runs, which underrates the model on average.
        above: by log Z from the forward runs, which is too low on average and so overrates it.
        low, high: the ends of the interval.
        stderr_rows, converged, log_z, method: as in `hm.LogLikelihood`.
    """

    value: float
    below: float
    above: float
    low: float
    high: float
    stderr_rows: float
    converged: bool
    log_z: float
    method: str

    def cells(self) -> list[str]:
        """Return the score as cells of a table."""
        warning = "" if self.converged else " (not converged)"
        return [f"{self.value:.2f}{warning}", f"{self.below:.2f} to {self.above:.2f}"]


def sandwiched(rbm: hm.RBM, part: str, seconds: float, **settings: Any) -> Score:
    """Return lower and upper estimates of the log-likelihood of rows."""
    rows = rows_of(part, True)
    score = hm.log_likelihood(rbm, rows, key=jax.random.key(0), seconds=seconds, **settings)
    log_z = score.log_z
    assert log_z.forward is not None
    assert log_z.reverse is not None
    energy = score.value + log_z.value
    return Score(
        value=score.value,
        below=energy + log_mean(log_z.reverse),
        above=energy - log_mean(log_z.forward),
        low=score.low,
        high=score.high,
        stderr_rows=score.stderr_rows,
        converged=score.converged,
        log_z=log_z.value,
        method=log_z.method,
    )


def log_mean(log_weights: np.ndarray) -> float:
    return np.logaddexp.reduce(log_weights) - np.log(len(log_weights))


def search(names: list[str]) -> None:
    """Print a row of the table for each trial."""
    for name in names or TRIALS:
        trial = TRIALS[name]
        rbm, seconds = learned(trial, "searched")
        size = float(np.linalg.norm(rbm.weights))
        score = sandwiched(rbm, "judge", 45.0, chains=256, tolerance=0.2)
        cells = [name, f"{trial.updates:,}", f"{seconds:.0f}", f"{size:.0f}", *score.cells()]
        print(row(cells), flush=True)


def store(folder: Path, who: str, seconds: float, rbm: hm.RBM, **also: Any) -> None:
    """Store a model, with the time of its training."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{who} {seconds:.0f}".replace(" ", "_")
    hm.save(rbm, folder / f"{name}.safetensors")
    record = {"who": who, "seconds": seconds, "cores": len(os.sched_getaffinity(0))} | also
    (folder / f"{name}.json").write_text(json.dumps(record, indent=2, default=str))
    print(name, flush=True)


def train(folder: Path, trials: list[str], seed: int) -> None:
    """Train on all rows: trials by their names, or given as "UPDATES,CHAINS,RATE"."""
    for name in trials:
        trial = (TRIALS | RECORDS).get(name)
        if trial is None:
            updates, chains, rate = name.split(",")
            trial = Trial(int(updates), chains=int(chains), recipe={"rate": float(rate)})
        rbm, seconds = learned(trial, "all", seed)
        who = "harmonium"
        if trial.recipe.get("penalties"):
            who += ", L1"
        if trial.is_fixed:
            who += ", fixed"
        store(folder, who, seconds, rbm, trial=trial._asdict(), seed=seed)


class Moments:
    """The times at which the model of another package is stored, on the way and at the end."""

    def __init__(self, total: float):
        self.ahead = [t for t in (30, 60, 120, 300, 600, 900, 1_800) if t < total] + [total]
        self.started = time.perf_counter()

    def reached(self) -> float | None:
        """Return the seconds that have passed if a further one of the times is reached."""
        seconds = time.perf_counter() - self.started
        if not self.ahead or seconds < self.ahead[0]:
            return None
        self.ahead = [t for t in self.ahead if t > seconds]
        return seconds


def store_peer(args: argparse.Namespace, seconds: float, rbm: hm.RBM) -> None:
    settings = {"rate": args.rate, "batch": args.batch, "chains": args.chains}
    store(args.folder, args.who, seconds, rbm, **settings)


def scikit_learn(args: argparse.Namespace) -> None:
    """Train scikit-learn's BernoulliRBM by its own loop; pixels are drawn again in each pass."""
    from sklearn.neural_network import BernoulliRBM

    rows = rows_of(args.part, False)
    grey = np.asarray(rows.values(0, len(rows)), np.float32)
    rng = np.random.RandomState(0)
    settings = {"learning_rate": args.rate, "batch_size": args.batch}
    model = BernoulliRBM(HIDDEN, n_iter=1, random_state=rng, **settings)
    moments = Moments(args.seconds)
    model.fit((rng.random_sample(grey.shape) < grey).astype(np.float32))
    while moments.ahead:
        seconds = moments.reached()
        if seconds is not None:
            store_peer(args, seconds, from_sklearn(model))
        x = (rng.random_sample(grey.shape) < grey).astype(np.float32)
        for first in range(0, len(x), args.batch):  # a pass of `fit` with the weights as they are
            model._fit(x[first : first + args.batch], rng)


def rbms(args: argparse.Namespace) -> None:
    """Train rbms by the steps of its own loop: PCD-1, its centred gradient, SGD."""
    import torch
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.dataset.dataset_class import RBMDataset
    from rbms.training.pcd import fit_batch_pcd

    rows = rows_of(args.part, False)
    grey = torch.from_numpy(np.array(rows.values(0, len(rows)), np.float32))
    data = RBMDataset(
        torch.bernoulli(grey).numpy(),
        np.zeros(len(grey), np.int32),
        np.ones(len(grey), np.float32),
        np.arange(len(grey)).astype(str),
        "mnist",
        True,
        device="cpu",
        dtype=torch.float32,
    )
    params = BBRBM.init_parameters(HIDDEN, data, "cpu", torch.float32)
    for parameter in params.parameters():
        parameter.requires_grad_()
        parameter.grad = torch.zeros_like(parameter)
    states = params.init_chains(args.chains)
    optimizer = torch.optim.SGD(params.parameters(), lr=args.rate, maximize=True)
    weights = torch.ones(args.batch)
    moments = Moments(args.seconds)
    with torch.no_grad():
        while moments.ahead:
            order = torch.randperm(len(grey))
            for first in range(0, len(grey) - args.batch + 1, args.batch):
                x = torch.bernoulli(grey[order[first : first + args.batch]])
                optimizer.zero_grad(set_to_none=False)
                states, _ = fit_batch_pcd((x, weights), states, params, 1, 1.0, centered=True)
                optimizer.step()
                seconds = moments.reached()
                if seconds is not None:
                    arrays = (params.weight_matrix, params.vbias, params.hbias)
                    rbm = hm.RBM.from_arrays(*(a.detach().numpy().copy() for a in arrays))
                    store_peer(args, seconds, rbm)


PEERS = {"scikit-learn": scikit_learn, "rbms": rbms}


def score(folder: Path, part: str, seconds: float) -> None:
    """Score every model of a folder that has no score yet."""
    for file in sorted(folder.glob("*.json")):
        record = json.loads(file.read_text())
        if part not in record:
            rbm = hm.load(file.with_suffix(".safetensors"))
            record[part] = sandwiched(rbm, part, seconds)._asdict()
            file.write_text(json.dumps(record, indent=2))
        cells = Score(**record[part]).cells()
        print(row([record["who"], f"{record['seconds']:.0f}", *cells]), flush=True)


def draw(folder: Path, picture: Path, part: str = "test") -> None:
    """Draw the likelihood of each run against its training time, as a point.

    Args:
        folder: the folder of the records, or a file that holds them, as docs/measured/mnist.json.
        picture: the PNG file to write.
        part: the rows of the scores.
    """
    if folder.is_file():
        records = json.loads(folder.read_text())["records"]
    else:
        records = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    ours = [r for r in records if r["who"].startswith("harmonium") and "fixed" not in r["who"]]
    figure = new_figure(7.5, 4.2, "500 hidden units on MNIST: each point is a run from the start")
    axes: Any = figure.subplots()
    label(axes, x="training time", y="log-likelihood of the test rows, nats")
    for run in ours:
        score = run[part]
        seconds = run["seconds"]
        color = BLUE
        words = f"{run.get('updates') or run['trial']['updates']:,} updates"
        if "L1" in run["who"]:
            color = ORANGE
            words += ", L1 penalty"
        ends = (score["below"], score["value"], score["above"])
        axes.plot([seconds] * 2, [min(ends), max(ends)], color=GREY, linewidth=1)
        axes.plot(seconds, score["value"], "o", color=color)
        place = {"xytext": (7, -3), "ha": "left"}
        if seconds > 1_000:  # near the right edge
            place = {"xytext": (-7, 5), "ha": "right"}
        point = (seconds, score["value"])
        axes.annotate(words, point, textcoords="offset points", fontsize=TEXT, **place)
    marks = {-86.34: "published in 2008", -84.35: "published in 2015"}
    for value, name in marks.items():
        axes.axhline(value, color=GREY, linewidth=1, linestyle="--")
        axes.annotate(
            f"{name}: −{-value}",
            (26, value),
            (0, -11),
            textcoords="offset points",
            fontsize=TEXT,
            color=GREY,
        )
    axes.set_xscale("log")
    axes.set_xlim(25, 4_000)
    ticks = (30, 60, 120, 300, 900, 3_600)
    axes.set_xticks(ticks, ["30 s", "1 min", "2 min", "5 min", "15 min", "1 h"], minor=False)
    axes.minorticks_off()
    levels = range(-89, -81)
    axes.set_yticks(levels, [f"−{-level}" for level in levels])
    axes.set_ylim(-89.0, -82.4)
    save_figure(figure, picture)


def main() -> None:
    """Run the command of the arguments."""
    parser = parser_of(__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    command = verbs.add_parser("search")
    command.add_argument("names", nargs="*")
    command.set_defaults(run=lambda args: search(args.names))
    command = verbs.add_parser("train")
    command.add_argument("folder", type=Path)
    command.add_argument("trials", nargs="+")
    command.add_argument("--seed", type=int, default=0)
    command.set_defaults(run=lambda args: train(args.folder, args.trials, args.seed))
    command = verbs.add_parser("peer")
    command.add_argument("folder", type=Path)
    command.add_argument("who", choices=PEERS)
    command.add_argument("--seconds", type=float, default=900.0)
    command.add_argument("--rate", type=float, default=0.05)
    command.add_argument("--batch", type=int, default=100)
    command.add_argument("--chains", type=int, default=500)
    command.add_argument("--part", choices=("all", "searched"), default="all")
    command.set_defaults(run=lambda args: PEERS[args.who](args))
    command = verbs.add_parser("score")
    command.add_argument("folder", type=Path)
    command.add_argument("--part", choices=("test", "judge"), default="test")
    command.add_argument("--seconds", type=float, default=SECONDS_TO_SCORE)
    command.set_defaults(run=lambda args: score(args.folder, args.part, args.seconds))
    command = verbs.add_parser("draw")
    command.add_argument("folder", type=Path)
    command.add_argument("picture", type=Path)
    command.set_defaults(run=lambda args: draw(args.folder, args.picture))
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
