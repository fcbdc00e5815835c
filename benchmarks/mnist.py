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
docs/measured/mnist.json, the records of docs/mnist.md.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy.ndimage import affine_transform

import harmonium as hm
from harmonium.io.convert import from_sklearn
from harmonium.plot.base import BLUE, GREY, ORANGE, TEXT, label, new_figure, save_figure

HIDDEN, SEARCHED = 500, 50_000
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
    folder = os.environ.get("HARMONIUM_DATA")
    if not folder:
        sys.exit("set HARMONIUM_DATA to the folder of reference data that holds mnist/")
    if is_fixed or part in ("judge", "test"):
        with np.load(Path(folder) / "mnist/binarized_mnist.npz") as archive:
            keys = {"searched": ["train"], "judge": ["valid"], "all": ["train", "valid"]}
            found = [archive[key] for key in keys.get(part, ["test"])]
        return hm.Dataset(np.unpackbits(np.concatenate(found), axis=1, count=784))
    with np.load(Path(folder) / "mnist/mnist_train_gray.npz") as archive:
        grey = archive["x"].reshape(-1, 784)
    return hm.Dataset(grey[: SEARCHED if part == "searched" else None], scale=255, stochastic=True)


def learned(trial: Trial, part: str, seed: int = 0) -> tuple[hm.RBM, float]:
    """Train; return the model and the seconds of `fit`, compiling included."""
    rows, key = rows_of(part, trial.is_fixed), jax.random.key(seed)
    start = rows.rows(key=key)
    rbm = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(HIDDEN), start, key=key)
    if trial.deformed:
        rows = with_deformed(rows, trial.deformed)
    method, falls = hm.Persistent(hm.Gibbs(trial.k), trial.chains), trial.late is None
    phases = [(trial.updates, method, {} if falls else {"hold": 1.0, "averaging": None})]
    phases += [] if falls else [(*trial.late, {"hold": 0.0})]
    began = time.perf_counter()
    for updates, gradient, schedule in phases:
        fit = hm.fit(
            rbm,
            rows,
            key=key,
            gradient=gradient,
            optimizer=hm.Recipe(**trial.recipe | schedule),
            epochs=round(updates * trial.batch / len(rows)),
            batch_size=trial.batch,
        )
        rbm = fit.rbm
    return jax.block_until_ready(rbm), time.perf_counter() - began


def with_deformed(rows: hm.Dataset, copies: int) -> hm.Dataset:
    """Add copies of digits rotated by about 3°, and slightly stretched, sheared and shifted."""
    grey, rng = np.asarray(rows.values(0, len(rows))) * rows.scale, np.random.default_rng(0)
    centre, found = np.full(2, 13.5), [grey]
    for _ in range(copies):
        turned = []
        for picture in grey.reshape(-1, 28, 28):
            angle, (shear, *stretch) = np.radians(rng.normal(0, 3)), rng.normal(0, 0.03, 3)
            turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            matrix = np.array(turn) @ [[1, shear], [0, 1]] @ np.diag(np.exp(stretch))
            begin = centre - matrix @ centre + rng.normal(0, 0.3, 2)
            turned.append(affine_transform(picture, matrix, begin, order=3).ravel())
        found.append(np.clip(turned, 0, 255).round())
    together = np.concatenate(found).astype(np.uint8)
    return hm.Dataset(together, scale=255, stochastic=True)


def sandwiched(rbm: hm.RBM, part: str, seconds: float, **settings: Any) -> dict[str, Any]:
    """Return lower and upper estimates of the log-likelihood of rows.

    `above` takes log Z from the forward runs, which is too low on average, and so overrates the
    model. `below` takes it from the reverse runs and underrates the model. `value` is Bennett's
    estimate.
    """
    rows = rows_of(part, True)
    score = hm.log_likelihood(rbm, rows, key=jax.random.key(0), seconds=seconds, **settings)
    log_z = score.log_z
    assert log_z.forward is not None
    assert log_z.reverse is not None
    logs = [np.logaddexp.reduce(w) - np.log(len(w)) for w in (log_z.forward, log_z.reverse)]
    energy = score.value + log_z.value
    return {
        "value": score.value,
        "below": energy + logs[1],
        "above": energy - logs[0],
        "low": score.low,
        "high": score.high,
        "stderr_rows": score.stderr_rows,
        "converged": score.converged,
        "log_z": log_z.value,
        "method": log_z.method,
    }


def sides(found: dict[str, Any]) -> str:
    """Return a score as the cells of a table."""
    warning = "" if found["converged"] else " (not converged)"
    return f"{found['value']:.2f}{warning} | {found['below']:.2f} to {found['above']:.2f}"


def search(names: list[str]) -> None:
    """Print a row of the table for each trial."""
    for name in names or TRIALS:
        trial = TRIALS[name]
        rbm, seconds = learned(trial, "searched")
        size = float(np.linalg.norm(rbm.weights))
        judged = sides(sandwiched(rbm, "judge", 45.0, chains=256, tolerance=0.2))
        print(f"| {name} | {trial.updates:,} | {seconds:.0f} | {size:.0f} | {judged} |", flush=True)


def keep(folder: Path, who: str, seconds: float, rbm: hm.RBM, **also: Any) -> None:
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
        who = "harmonium" + ", L1" * bool(trial.recipe.get("penalties"))
        who += ", fixed" * trial.is_fixed
        keep(folder, who, seconds, rbm, trial=trial._asdict(), seed=seed)


def moments(total: float) -> list[float]:
    """Return the times at which the model of another package is stored."""
    return [t for t in (30, 60, 120, 300, 600, 900, 1_800) if t < total] + [total]


def scikit_learn(folder: Path, part: str, total: float, rate: float, batch: int, _: int) -> None:
    """Train scikit-learn's BernoulliRBM by its own loop; pixels are drawn again in each pass."""
    from sklearn.neural_network import BernoulliRBM

    rows = rows_of(part, False)
    grey = np.asarray(rows.values(0, len(rows)), np.float32)
    rng = np.random.RandomState(0)
    model = BernoulliRBM(HIDDEN, learning_rate=rate, batch_size=batch, n_iter=1, random_state=rng)
    wait, began = moments(total), time.perf_counter()
    model.fit((rng.random_sample(grey.shape) < grey).astype(np.float32))
    while wait:
        spent = time.perf_counter() - began
        if spent >= wait[0]:
            wait = [t for t in wait if t > spent]
            rbm = from_sklearn(model)
            keep(folder, "scikit-learn", spent, rbm, rate=rate, batch=batch)
        x = (rng.random_sample(grey.shape) < grey).astype(np.float32)
        for first in range(0, len(x), batch):  # a pass of `fit`, without its reinitialisation
            model._fit(x[first : first + batch], rng)


def rbms(folder: Path, part: str, total: float, rate: float, batch: int, chains: int) -> None:
    """Train rbms by the steps of its own loop: PCD-1, its centred gradient, SGD."""
    import torch
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.dataset.dataset_class import RBMDataset
    from rbms.training.pcd import fit_batch_pcd

    rows = rows_of(part, False)
    grey = torch.from_numpy(np.array(rows.values(0, len(rows)), np.float32))
    none, ones = np.zeros(len(grey), np.int32), np.ones(len(grey), np.float32)
    names = np.arange(len(grey)).astype(str)
    first = torch.bernoulli(grey).numpy()
    data = RBMDataset(first, none, ones, names, "mnist", True, device="cpu", dtype=torch.float32)
    params = BBRBM.init_parameters(HIDDEN, data, "cpu", torch.float32)
    for each in params.parameters():
        each.requires_grad_()
        each.grad = torch.zeros_like(each)
    going = params.init_chains(chains)
    optimizer = torch.optim.SGD(params.parameters(), lr=rate, maximize=True)
    wait, began, weights = moments(total), time.perf_counter(), torch.ones(batch)
    with torch.no_grad():
        while wait:
            order = torch.randperm(len(grey))
            for first_row in range(0, len(grey) - batch + 1, batch):
                chosen = torch.bernoulli(grey[order[first_row : first_row + batch]])
                optimizer.zero_grad(set_to_none=False)
                going, _ = fit_batch_pcd((chosen, weights), going, params, 1, 1.0, centered=True)
                optimizer.step()
                spent = time.perf_counter() - began
                if wait and spent >= wait[0]:
                    wait = [t for t in wait if t > spent]
                    w, a, b = (
                        each.detach().numpy().copy()
                        for each in (params.weight_matrix, params.vbias, params.hbias)
                    )
                    found = {"components_": w.T, "intercept_visible_": a, "intercept_hidden_": b}
                    rbm = from_sklearn(SimpleNamespace(**found))
                    keep(folder, "rbms", spent, rbm, rate=rate, batch=batch, chains=chains)


PEERS = {"scikit-learn": scikit_learn, "rbms": rbms}


def score(folder: Path, part: str, seconds: float) -> None:
    """Score every model of a folder that has no score yet."""
    for file in sorted(folder.glob("*.json")):
        record = json.loads(file.read_text())
        if part not in record:
            rbm = hm.load(file.with_suffix(".safetensors"))
            record[part] = sandwiched(rbm, part, seconds)
            file.write_text(json.dumps(record, indent=2))
        print(f"| {record['who']} | {record['seconds']:.0f} | {sides(record[part])} |", flush=True)


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
        score, seconds = run[part], run["seconds"]
        penalised = "L1" in run["who"]
        ends = sorted(score[key] for key in ("below", "value", "above"))
        axes.plot([seconds] * 2, [ends[0], ends[-1]], color=GREY, linewidth=1)
        axes.plot(seconds, score["value"], "o", color=ORANGE if penalised else BLUE)
        updates = f"{run.get('updates') or run['trial']['updates']:,} updates"
        axes.annotate(
            updates + ", L1 penalty" * penalised,
            (seconds, score["value"]),
            (-7, 5) if seconds > 1_000 else (7, -3),
            textcoords="offset points",
            fontsize=TEXT,
            ha="right" if seconds > 1_000 else "left",
        )
    marks = {
        -86.34: "published in 2008",
        -84.35: "published in 2015",
    }
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("search")
    one.add_argument("names", nargs="*")
    one = verbs.add_parser("train")
    one.add_argument("folder", type=Path)
    one.add_argument("trials", nargs="+")
    one.add_argument("--seed", type=int, default=0)
    one = verbs.add_parser("peer")
    one.add_argument("folder", type=Path)
    one.add_argument("who", choices=PEERS)
    one.add_argument("--seconds", type=float, default=900.0)
    one.add_argument("--rate", type=float, default=0.05)
    one.add_argument("--batch", type=int, default=100)
    one.add_argument("--chains", type=int, default=500)
    one.add_argument("--part", choices=("all", "searched"), default="all")
    one = verbs.add_parser("score")
    one.add_argument("folder", type=Path)
    one.add_argument("--part", choices=("test", "judge"), default="test")
    one.add_argument("--seconds", type=float, default=SECONDS_TO_SCORE)
    one = verbs.add_parser("draw")
    one.add_argument("folder", type=Path)
    one.add_argument("picture", type=Path)
    asked = parser.parse_args()
    if asked.verb == "search":
        search(asked.names)
    elif asked.verb == "train":
        train(asked.folder, asked.trials, asked.seed)
    elif asked.verb == "peer":
        options = (asked.part, asked.seconds, asked.rate, asked.batch, asked.chains)
        PEERS[asked.who](asked.folder, *options)
    elif asked.verb == "score":
        score(asked.folder, asked.part, asked.seconds)
    else:
        draw(asked.folder, asked.picture)


if __name__ == "__main__":
    main()
