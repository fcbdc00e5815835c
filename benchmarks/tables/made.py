"""Tables that are made: what people have and where the obvious is hard to beat.

Each function returns the cells of a table as columns by name, from a random generator. In the
first ones something holds exactly or nearly between columns, which a model has to find; in the
others columns hardly depend on each other, or are of a kind that lies between words and numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Cells = dict[str, np.ndarray]


def total(rng: np.random.Generator) -> Cells:
    """A column that is the sum of two others: 200 rows of whole numbers."""
    a = rng.normal(50, 10, 200).round().astype(int)
    b = rng.normal(30, 10, 200).round().astype(int)
    return {"a": a, "b": b, "total": a + b}


def fraud(rng: np.random.Generator) -> Cells:
    """A rare word that goes with a narrow range of a number: 1.3 % of 3,000 rows."""
    is_fraud = rng.random(3_000) < 0.013
    x = np.where(is_fraud, rng.normal(5.0, 0.5, 3_000), rng.normal(0.0, 1.0, 3_000))
    amount = rng.lognormal(3.0, 0.8, 3_000)
    kind = np.where(is_fraud, "fraud", "usual")
    return {"x": x.round(4), "amount": amount.round(2), "kind": kind}


def clusters(rng: np.random.Generator) -> Cells:
    """Two tight clusters in a plane: 1,000 rows."""
    centre = rng.choice([-1.0, 1.0], 1_000)
    points = centre[:, None] * [0.5, 0.3] + rng.normal(0.0, 0.03, (1_000, 2))
    return {"x": points[:, 0].round(4), "y": points[:, 1].round(4)}


def signals(rng: np.random.Generator) -> Cells:
    """A signal over time by subject, event and region, as in studies of the brain: 1,064 rows."""
    subjects = np.arange(14)
    times = np.arange(19)
    events = np.array(["cue", "stimulus"])
    regions = np.array(["frontal", "parietal"])
    grid = np.meshgrid(subjects, times, events, regions, indexing="ij")
    subject, time, event, region = (axis.ravel() for axis in grid)
    height = np.where(event == "stimulus", 0.25, 0.09) * np.where(region == "frontal", 0.7, 1.0)
    response = np.exp(-(((time - 5) / 2.0) ** 2)) - 0.4 * np.exp(-(((time - 11) / 3.0) ** 2))
    gain = rng.normal(1.0, 0.25, 14)[subject]
    signal = gain * height * response + rng.normal(0.0, 0.02, len(time))
    names = np.array([f"s{number}" for number in subjects])[subject]
    cells = {"subject": names, "timepoint": time, "event": event, "region": region}
    return cells | {"signal": signal.round(6)}


def shares(rng: np.random.Generator) -> Cells:
    """Ten shares of a whole that add up to 100: 1,349 rows."""
    mean = rng.dirichlet(np.full(10, 2.0))
    parts = rng.dirichlet(20.0 * mean + 0.5, 1_349)
    return {f"share_{i}": (100.0 * parts[:, i]).round(2) for i in range(10)}


def salaries(rng: np.random.Generator) -> Cells:
    """Salaries rounded to thousands, with years in the post and a grade: 800 rows."""
    years = rng.gamma(2.0, 4.0, 800).round().astype(int)
    grade = rng.choice(["junior", "senior", "lead"], 800, p=[0.5, 0.35, 0.15])
    base = np.select([grade == "junior", grade == "senior"], [32.0, 45.0], 62.0)
    salary = 1_000 * (base + 0.6 * years + rng.normal(0.0, 3.0, 800)).round().astype(int)
    return {"years": years, "grade": grade, "salary": salary}


def survey(rng: np.random.Generator) -> Cells:
    """Answers to fourteen questions that hardly depend on each other: 551 rows."""
    mood = rng.normal(0.0, 0.25, 551)
    cells: Cells = {}
    for i in range(14):
        answers = rng.normal(3.0 + 0.1 * (i % 5) + mood, 1.1)
        cells[f"question_{i + 1}"] = np.clip(answers.round(), 1, 5).astype(int)
    return cells


def scores(rng: np.random.Generator) -> Cells:
    """Scores from 1 to 10 that three examiners give the same work: 700 rows."""
    quality = rng.normal(6.0, 1.7, 700)
    marks = (quality[:, None] + rng.normal(0.0, 0.8, (700, 3))).round().clip(1, 10).astype(int)
    return {f"examiner_{i + 1}": marks[:, i] for i in range(3)}


def attitudes(rng: np.random.Generator) -> Cells:
    """Twelve statements rated from 1 to 5, of which each six measure one attitude: 500 rows."""
    attitude = rng.normal(size=(500, 2)) @ np.linalg.cholesky([[1.0, 0.3], [0.3, 1.0]]).T
    cells: Cells = {}
    for i in range(12):
        latent = 0.75 * attitude[:, i // 6] + rng.normal(0.0, 0.66, 500)
        cuts = np.array([-1.4, -0.5, 0.3, 1.2]) + 0.15 * (i % 3)
        cells[f"statement_{i + 1}"] = 1 + np.searchsorted(cuts, latent)
    return cells


def films(rng: np.random.Generator) -> Cells:
    """Ratings from 1 to 5 of 24 films by 300 people, whose tastes have three directions."""
    tastes = rng.normal(size=(300, 3))
    films = rng.normal(size=(3, 24)) / np.sqrt(3)
    leniency = rng.normal(0.0, 0.4, (300, 1))
    quality = rng.normal(3.3, 0.5, 24)
    ratings = quality + leniency + tastes @ films + rng.normal(0.0, 0.6, (300, 24))
    marks = ratings.round().clip(1, 5).astype(int)
    return {f"film_{i + 1}": marks[:, i] for i in range(24)}


def rain(rng: np.random.Generator) -> Cells:
    """Rain, zero on most days, with pressure and season: 1,500 rows."""
    day = rng.integers(0, 365, 1_500)
    season = np.array(["winter", "spring", "summer", "autumn"])[(day // 92).clip(0, 3)]
    pressure = rng.normal(1013.0, 8.0, 1_500)
    is_wet = rng.random(1_500) < 1.0 / (1.0 + np.exp((pressure - 1006.0) / 4.0))
    fall = np.where(is_wet, rng.gamma(0.8, 6.0, 1_500), 0.0)
    return {"season": season, "pressure": pressure.round(1), "rain": fall.round(1)}


MADE: dict[str, Callable[[np.random.Generator], Cells]] = {
    table.__name__: table
    for table in (
        *(total, fraud, clusters, signals, shares),
        *(salaries, survey, scores, attitudes, films, rain),
    )
}
