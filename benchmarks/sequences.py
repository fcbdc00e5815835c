"""RBMs of two protein families: likelihood, contacts, correlations and mutational effects.

    python benchmarks/sequences.py contacts [HIDDEN]   # response regulators, PF00072
    python benchmarks/sequences.py mutants [HIDDEN]    # beta-lactamases, PF13354, mutants of TEM-1

`contacts` trains on `pf00072_train0.6`, without its `test0.4`, which it is tested on. Contacts are
pairs |i − j| > 4 within 6 Å. `mutants` compares log p of single mutants with their measured fitness
(Stiffler, Hekstra & Ranganathan 2015) by Spearman's coefficient; which columns they are at is found
by aligning TEM-1 to the profile. Both print the model of independent sites beside the RBM. They
need the reference data, in the folder that HARMONIUM_DATA names.
"""

import csv
import math

import jax
import numpy as np
from reference_data import reference
from reporting import parser_of
from scipy.stats import spearmanr
from timing import timed

import harmonium as hm

STATES = 21
SEED = 0
NEAR = 6.0
APART = 4
OPEN = -6.0  # cost of the first column of a gap, in nats
EXTEND = -0.5  # of each further column


def independent(codes: np.ndarray, weights: np.ndarray, pseudo_count: float) -> np.ndarray:
    """Return log p of each state at each site, shape (states, sites)."""
    counts = np.array([(weights[:, None] * (codes == k)).sum(0) for k in range(STATES)])
    counts += pseudo_count / STATES
    return np.log(counts / counts.sum(0))


def trained(codes: np.ndarray, weights: np.ndarray, hidden: int, held_out: np.ndarray) -> hm.RBM:
    """Return the model of a default run, and print its time."""
    key_weights, key_fit = jax.random.split(jax.random.key(SEED))
    visible = hm.Potts(codes.shape[1], STATES)
    rbm = hm.initialize(visible, hm.Bernoulli(hidden), codes[:10_000], key=key_weights)
    fit, seconds = timed(hm.fit, rbm, codes, weights=weights, validation=held_out, key=key_fit)
    epochs = int(fit.state.updates) / math.ceil(len(codes) / 200)
    pace = seconds / epochs
    print(f"{hidden} hidden units: {fit.message}, {seconds:.0f} s, {pace:.2f} s an epoch")
    for note in fit.notes:
        print(f"  {note}")
    return fit.rbm


def contacts(hidden: int) -> None:
    train = np.load(reference("proteins/pf00072_train0.6.npz"))["x"]
    test = np.load(reference("proteins/pf00072_test0.4.npz"))["x"]
    weights = hm.sequences.neighbours(train).weights
    rbm = trained(train, weights, hidden, test[::10])
    sites = train.shape[1]
    alone = independent(train, np.ones(len(train)), 1.0)[test, np.arange(sites)].sum(1).mean()
    score = hm.log_likelihood(rbm, test, key=jax.random.key(1))
    print(
        f"log-likelihood per site {score.value / sites:.4f}, in [{score.low / sites:.4f},"
        f" {score.high / sites:.4f}], converged: {score.converged}; independent {alone / sites:.4f}"
    )
    structure = np.loadtxt(reference("proteins/pf00072_struct.dat"))
    distance = np.full((sites, sites), np.inf)
    i, j = structure[:, :2].astype(int).T - 1
    distance[i, j] = distance[j, i] = structure[:, 3]
    for name, around in (("alone", None), ("around rows", train[:: len(train) // 24][:24])):
        scores = hm.contact_scores(hm.effective_couplings(rbm, around=around))
        i, j = np.triu_indices(sites, APART + 1)
        near = distance[i, j][np.argsort(-scores[i, j])] <= NEAR
        shares = ", ".join(f"{k}L {near[: k * sites].mean():.3f}" for k in (1, 2, 5))
        print(f"contacts, couplings {name}: {shares}", flush=True)
    draws = hm.sample(rbm, 10_000, key=jax.random.key(2))
    for agreement in hm.moment_agreement(draws, test, states=STATES, others=train):
        samples = f"Pearson {agreement.samples:.3f}"
        print(f"{agreement.name}: {samples}, of training rows {agreement.others:.3f}")


def placed(wild: str, profile: np.ndarray, letters: str) -> dict[int, int]:
    """Return the column of each residue of a sequence that the best alignment to a profile has.

    Gotoh's algorithm with free ends: states are a match, a residue between columns, a column
    without a residue.
    """
    codes = np.array([letters.index(letter) for letter in wild]) - 1
    p = np.exp(profile[1:]) / np.exp(profile[1:]).sum(0)
    score = np.log(p / p.mean(1, keepdims=True))[codes]
    n, columns = score.shape
    best = np.full((3, n + 1, columns + 1), -np.inf)
    # Free ends: what precedes the first match costs nothing.
    best[0, 0, 0] = 0.0
    best[1, 1:, 0] = 0.0
    best[2, 0, 1:] = 0.0
    previous = np.zeros((3, n + 1, columns + 1), int)
    for i in range(1, n + 1):
        for c in range(1, columns + 1):
            costs = [OPEN, EXTEND, -np.inf]
            if c == columns:  # what follows the last match costs nothing either
                costs = [0.0, 0.0, -np.inf]
            steps = (
                best[:, i - 1, c - 1] + score[i - 1, c - 1],
                best[:, i - 1, c] + costs,
                best[:, i, c - 1] + [OPEN, -np.inf, EXTEND],
            )
            for state, step in enumerate(steps):
                previous[state, i, c] = step.argmax()
                best[state, i, c] = step.max()
    columns_of_residues = {}
    i = n
    c = columns
    state = int(best[:, n, columns].argmax())
    while i > 0 and c > 0:
        before = int(previous[state, i, c])
        if state == 0:
            columns_of_residues[i - 1] = c - 1
        if state != 2:
            i -= 1
        if state != 1:
            c -= 1
        state = before
    return columns_of_residues


def mutants(hidden: int) -> None:
    family = hm.read_alignment(reference("proteins/pf13354.fasta"))
    letters = family.sites.alphabet.letters
    with reference("proteins/blat_ecolx_2015.csv").open(newline="") as file:
        measured = [row for row in csv.DictReader(file) if ":" not in row["mutant"]]
    wild = {int(row["mutant"][1:-1]): row["mutant"][0] for row in measured}
    first = min(wild)
    word = "".join(wild[k] for k in sorted(wild))
    profile = independent(family.codes, family.weights, 5.0)
    columns = placed(word, profile, letters)
    codes = np.zeros(family.codes.shape[1], np.uint8)
    for residue, column in columns.items():
        codes[column] = letters.index(word[residue])
    changed = []
    fitness = []
    for row in measured:
        column = columns.get(int(row["mutant"][1:-1]) - first)
        if column is not None and row["2500"] and row["mutant"][-1] in letters:
            changed.append((column, letters.index(row["mutant"][-1])))
            fitness.append(float(row["2500"]))
    site, state = np.array(changed).T
    print(f"{len(site):,} mutants at {len(columns)} of {len(codes)} columns")

    def spearman(scores: np.ndarray) -> float:
        return float(spearmanr(scores, fitness, nan_policy="omit").statistic)

    for count in (1.0, 10.0, 100.0):
        alone = independent(family.codes, family.weights, count)
        value = spearman(alone[state, site] - alone[codes[site], site])
        print(f"independent sites, pseudo-count {count:g}: Spearman {value:.3f}")
    order = np.random.default_rng(SEED).permutation(len(family.codes))
    train_rows = order[len(order) // 10 :]
    held_rows = order[: len(order) // 10]
    rbm = trained(
        family.codes[train_rows], family.weights[train_rows], hidden, family.codes[held_rows]
    )
    print(f"RBM: Spearman {spearman(hm.analysis.single_changes(rbm, codes)[site, state]):.3f}")


PROGRAMS = {"contacts": contacts, "mutants": mutants}


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("hidden", nargs="?", type=int, default=200)
    args = parser.parse_args()
    PROGRAMS[args.program](args.hidden)
