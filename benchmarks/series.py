"""log p of the next row of a series: conditional RBMs, a static RBM, and autoregressions.

    python benchmarks/series.py [--rows 4000] [--letters 60000] [--json docs/measured/series.json]

* `chain`: a driven chain of spins. Each spin is pulled by the spin to its left at the time before,
  and by the product of its two neighbours on the left, which no autoregression can represent; spins
  of the same time are coupled in a ring, so that they are not independent given the past. The log
  likelihood of the series under the chain itself is known exactly, from transfer matrices.
* `text`: the letters of the pages in docs, in lower case, with one mark for all that is no letter.
  The past is four letters.

The autoregression is a logistic regression for each column; the static RBM models a row without its
past. All are trained on the first rows, and scored on the last.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
from reporting import head, parser_of, row, signed, write_records
from sklearn.linear_model import LogisticRegression

import harmonium as hm

SPINS = 20
BY_LEFT = 0.6  # the pull of the left neighbour
BY_BOTH = 0.8  # the pull of the product of both neighbours on the left
COUPLING = 0.7  # between neighbours of the same time
SWEEPS = 30  # Gibbs sweeps of a row, enough at this coupling
LETTERS_BEFORE = 4
HIDDEN = 40
TEST_ROWS = 1_000


def fields(before: np.ndarray) -> np.ndarray:
    """Return the fields on the spins of the next time."""
    left = np.roll(before, 1, axis=-1)
    return BY_LEFT * left + BY_BOTH * left * np.roll(before, 2, axis=-1)


def driven_chain(rows: int, seed: int = 0) -> np.ndarray:
    """Return a series of spins, drawn by Gibbs sweeps of the ring at each time."""
    rng = np.random.default_rng(seed)
    spins = rng.choice([-1, 1], SPINS)
    series = []
    for _ in range(rows):
        pull = fields(spins)
        spins = rng.choice([-1, 1], SPINS)
        for _ in range(SWEEPS):
            for i in range(SPINS):
                field = pull[i] + COUPLING * (spins[i - 1] + spins[(i + 1) % SPINS])
                spins[i] = 1 if rng.random() < 1.0 / (1.0 + np.exp(-2.0 * field)) else -1
        series.append(spins.copy())
    return np.array(series)


def log_p_of_chain(series: np.ndarray) -> float:
    """Return the mean log p of a row given the row before it, under the chain itself."""
    states = np.array([-1.0, 1.0])
    total = 0.0
    for before, after in itertools.pairwise(series):
        pull = fields(before)
        product = np.eye(2)
        log_scale = 0.0
        for field in pull:
            product = product @ np.exp(COUPLING * np.outer(states, states) + field * states)
            log_scale += np.log(product.max())
            product /= product.max()
        log_z = log_scale + np.log(np.trace(product))
        total += pull @ after + COUPLING * (after * np.roll(after, 1)).sum() - log_z
    return total / (len(series) - 1)


def letters(count: int) -> np.ndarray:
    """Return the first letters of the pages in docs as codes, 0 for all other characters."""
    pages = sorted(Path("docs").glob("*.md"))
    text = " ".join(page.read_text("utf-8").lower() for page in pages)
    text = re.sub("[^a-z]+", " ", text)[:count]
    codes = [ord(letter) - ord("a") + 1 if letter != " " else 0 for letter in text]
    return np.array(codes)[:, None]


def autoregression(train: np.ndarray, test: np.ndarray, layer: Any, given: int) -> float:
    """Return the mean log p of test rows under a logistic regression for each target."""
    past = layer(given)
    inputs = [np.asarray(past.encode(rows[:, :given])) for rows in (train, test)]
    total = 0.0
    for target in range(given, train.shape[1]):
        model = LogisticRegression(max_iter=1_000).fit(inputs[0], train[:, target])
        log_p = model.predict_log_proba(inputs[1])
        places = np.searchsorted(model.classes_, test[:, target])
        total += log_p[np.arange(len(test)), places].mean()
    return total


def potts(sites: int) -> hm.Potts:
    """Return a layer of letters."""
    return hm.Potts(sites, states=27)


def measured(series: np.ndarray, layer: Any, past: int) -> list[dict[str, Any]]:
    """Return the log-likelihoods of the last rows under all models."""
    key = jax.random.key(0)
    columns = series.shape[1]
    rows = hm.data.windows(series, past)
    train = rows[:-TEST_ROWS]
    test = rows[-TEST_ROWS:]
    given = past * columns
    validation = train[-len(train) // 10 :]
    learned = train[: -len(train) // 10]
    records = [{"model": "autoregression", "log p": autoregression(train, test, layer, given)}]

    def fitted(visible: Any, hidden: int, cut: int = 0) -> Any:
        start = hm.initialize(visible, hm.Bernoulli(hidden), learned[:, cut:], key=key)
        fit = hm.fit(start, learned[:, cut:], validation=validation[:, cut:], key=key)
        return hm.log_likelihood(fit.rbm, test[:, cut:], key=key)

    conditional = hm.Conditional(layer(rows.shape[1]), given=range(given))
    scores = {
        "static RBM": fitted(layer(columns), HIDDEN, given),
        "no hidden units": fitted(conditional, 1),
        "conditional RBM": fitted(conditional, HIDDEN),
    }
    for name, score in scores.items():
        record = {"low": round(float(score.low), 3), "high": round(float(score.high), 3)}
        records.append({"model": name, "log p": score.value} | record)
    return records


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    args = parser_of(__doc__, rows=4_000, letters=60_000, json="").parse_args()
    print(head(["series", "model", "log p of the next row, nats"]))
    records = []
    chain = driven_chain(args.rows + TEST_ROWS + 1)
    truth = {"model": "the chain itself", "log p": log_p_of_chain(chain[-TEST_ROWS - 1 :])}
    text = letters(args.letters + TEST_ROWS)
    for name, series, layer, past, more in [
        ("chain", chain, hm.Ising, 1, [truth]),
        ("text", text, potts, LETTERS_BEFORE, []),
    ]:
        results = measured(series, layer, past) + more
        for result in results:
            print(row([name, result["model"], signed(result["log p"], 2)]), flush=True)
            score = {"log p": round(float(result["log p"]), 3)}
            records.append({"series": name} | result | score)
    if args.json:
        write_records(args.json, __file__, records)


if __name__ == "__main__":
    main()
