"""Word counts: held-out nats per word of a replicated softmax and of latent Dirichlet allocation.

The documents are the docstrings of installed packages, so nothing is downloaded, and a corpus that
is drawn from latent Dirichlet allocation (LDA) itself. The RBM's value has an interval from
annealing in both directions. LDA's is a variational lower bound of its log-likelihood, so its model
may be better than the figure. Both are of words in their order.

    python benchmarks/words.py             # both corpora
    python benchmarks/words.py drawn
"""

import importlib
import inspect
import pkgutil
import sys
import time
import warnings

import jax
import numpy as np
from scipy.special import digamma, gammaln
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from timing import timed

import harmonium as hm

WORDS = 1_000
HIDDEN = 50
TESTED = 100
SEED = 0
PACKAGES = ("numpy", "scipy", "sklearn", "matplotlib", "jax", "optax")


def docstrings() -> list[str]:
    """Return the docstrings of public functions and classes, without repetition."""
    texts = {}
    for package in PACKAGES:
        home = importlib.import_module(package)
        names = [info.name for info in pkgutil.walk_packages(home.__path__, f"{package}.", str)]
        for name in [package, *names]:
            if any(part.startswith("_") or "test" in part for part in name.split(".")):
                continue
            try:
                module = importlib.import_module(name)
            except BaseException:  # an optional dependency is missing, or a script wants arguments
                continue
            for label, thing in vars(module).items():
                if not label.startswith("_") and callable(thing):
                    texts.setdefault(inspect.getdoc(thing) or "", None)
    return [text for text in texts if len(text) > 200]


def described() -> np.ndarray:
    """Return word counts of docstrings, shape (documents, words)."""
    texts = docstrings()
    counter = CountVectorizer(
        stop_words="english", max_features=WORDS, max_df=0.3, token_pattern=r"\b[a-z]{3,}\b"
    )
    counts = counter.fit_transform(texts).toarray()
    return counts[(counts.sum(1) >= 10) & (counts.sum(1) <= 200)]


def drawn() -> np.ndarray:
    """Return word counts drawn from LDA: 20 topics, 3,000 documents of 20 to 200 words."""
    rng = np.random.default_rng(SEED)
    topics = rng.dirichlet(np.full(WORDS, 0.05), size=20)
    lengths = rng.integers(20, 201, size=3_000)
    mixes = rng.dirichlet(np.full(20, 0.1), size=len(lengths))
    return np.array(
        [rng.multinomial(n, mix @ topics) for n, mix in zip(lengths, mixes, strict=True)]
    )


def bound_of(model: LatentDirichletAllocation, counts: np.ndarray) -> float:
    """Return the variational lower bound of nats per word, with the topics at their means.

    (`model.perplexity` counts the uncertainty of the topics too, which a small test set pays for.)
    """
    topics = model.components_ / model.components_.sum(1, keepdims=True)
    prior = model.doc_topic_prior_
    total = 0.0
    for row in counts:
        words = np.flatnonzero(row)
        n = row[words]
        p = topics[:, words]
        mix = np.full(len(topics), prior + n.sum() / len(topics))
        for _ in range(1_000):
            logs = digamma(mix) - digamma(mix.sum())
            new = prior + np.exp(logs) * (p @ (n / (np.exp(logs) @ p)))
            close = np.abs(new - mix).max() < 1e-6
            mix = new
            if close:
                break
        logs = digamma(mix) - digamma(mix.sum())
        total += n @ np.log(np.exp(logs) @ p) + ((prior - mix) * logs).sum()
        total += gammaln(len(topics) * prior) - len(topics) * gammaln(prior)
        total += gammaln(mix).sum() - gammaln(mix.sum())
    return float(total / counts.sum())


def lda(train: np.ndarray, test: np.ndarray) -> list[str]:
    """Return lines on LDA: a bound of nats per word, for several numbers of topics and priors."""
    lines = []
    for topics, prior in ((20, 0.05), (20, 0.1), (50, 0.02), (50, 0.1), (100, 0.02)):
        started = time.perf_counter()
        model = LatentDirichletAllocation(
            topics, doc_topic_prior=prior, max_iter=50, random_state=SEED
        ).fit(train)
        bound = bound_of(model, test)
        lines.append(
            f"  LDA, {topics} topics, prior {prior:g}: at least {bound:.3f} nats per word"
            f" (perplexity at most {np.exp(-bound):.0f}), {time.perf_counter() - started:.0f} s"
        )
    return lines


def measured(name: str, counts: np.ndarray) -> None:
    """Print what each model says of held-out documents."""
    order = np.random.default_rng(SEED).permutation(len(counts))
    counts = counts[order].astype(np.float32)
    train = counts[TESTED:]
    test = counts[:TESTED]
    words = test.sum()
    print(f"{name}: {len(train)} documents of {train.sum(1).mean():.0f} words; {TESTED} tested")
    frequencies = train.sum(0) + 0.5
    alone = float((test @ np.log(frequencies / frequencies.sum())).sum() / words)
    print(f"  one distribution of words: {alone:.3f} nats per word")
    for line in lda(train, test):
        print(line, flush=True)
    keys = jax.random.split(jax.random.key(SEED), 3)
    held_out = train[: len(train) // 10]
    learned = train[len(train) // 10 :]
    visible = hm.ReplicatedSoftmax(counts.shape[1])
    start = hm.initialize(visible, hm.Bernoulli(HIDDEN), learned, key=keys[0])
    for title, gradient in (("PCD-1", "pcd"), ("CD-1", hm.Contrastive(hm.Gibbs(1)))):
        settings = {"gradient": gradient, "validation": held_out}
        fit, seconds = timed(hm.fit, start, learned, key=keys[1], **settings)
        score, scoring = timed(hm.log_likelihood, fit.rbm, test, key=keys[2])
        orders = float(np.sum(fit.rbm.visible.log_arrangements(test)))
        low, value, high = (
            (end * TESTED - orders) / words for end in (score.low, score.value, score.high)
        )
        print(
            f"  replicated softmax, {HIDDEN} hidden units, {title}: {value:.3f} [{low:.3f},"
            f" {high:.3f}] nats per word (perplexity {np.exp(-value):.0f}), {seconds:.0f} s;"
            f" scored in {scoring:.0f} s, {score.method}",
            flush=True,
        )


def main() -> None:
    warnings.simplefilter("ignore")
    corpora = {"drawn": drawn, "docstrings": described}
    for name in sys.argv[1:] or corpora:
        measured(name, corpora[name]())


if __name__ == "__main__":
    main()
