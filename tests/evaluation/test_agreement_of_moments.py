import numpy as np
import pytest

import harmonium as hm


def chain(n, seed, columns=6, states=3):
    """Return codes of columns, each of which is most often that of the column before."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, states, (n, columns))
    for k in range(1, columns):
        rows[:, k] = np.where(rng.random(n) < 0.7, rows[:, k - 1], rows[:, k])
    return rows


def by_name(agreements):
    return {agreement.name: agreement for agreement in agreements}


def test_the_same_rows_agree_perfectly():
    rows = chain(500, 0)
    for states, x in ((3, rows), (1, rows + 0.5)):
        for agreement in hm.moment_agreement(x, x, states=states, others=x):
            assert (agreement.samples, agreement.others) == pytest.approx((1.0, 1.0))
            assert agreement.slope == pytest.approx(1.0)


def test_samples_without_correlations_are_told():
    data = chain(4_000, 0)
    others = chain(4_000, 1)
    shuffled = np.random.default_rng(2).permuted(data, axis=0)
    agreements = by_name(hm.moment_agreement(shuffled, data, states=3, others=others))
    pairs = agreements["pair correlations"]
    triples = agreements["triple correlations"]
    assert pairs.others > 0.99
    assert triples.others > 0.95
    assert abs(pairs.samples) < 0.2
    assert abs(pairs.slope) < 0.05
    assert agreements["means"].samples == pytest.approx(1.0)
    assert pairs.count == 15 * 9  # pairs of columns × pairs of states


def test_weak_correlations_have_a_small_slope():
    data = chain(4_000, 0)
    half = data.copy()
    half[::2] = np.random.default_rng(2).permuted(half[::2], axis=0)
    pairs = by_name(hm.moment_agreement(half, data, states=3))["pair correlations"]
    assert pairs.others is None
    assert pairs.samples > 0.95
    assert pairs.slope == pytest.approx(0.5, abs=0.05)


def test_few_columns_have_few_orders():
    assert [
        agreement.name for agreement in hm.moment_agreement(np.eye(4)[:, :1], np.eye(4)[:, :1])
    ] == ["means"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: hm.moment_agreement(x[:, :3], x), "samples: expected 6 columns"),
        (lambda x: hm.moment_agreement(x + 5, x, states=3), "samples: expected codes from 0 to 2"),
        (lambda x: hm.moment_agreement(x, x, states=[3]), "states: expected one number"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(hm.InputError, match=message):
        call(chain(50, 0))


def test_a_sorted_file_is_no_worse_a_yardstick():
    rng = np.random.default_rng(0)
    kinds = np.repeat(rng.random((4, 12)), 200, axis=0)  # four clusters, one after the other
    rows = (rng.random(kinds.shape) < kinds).astype(int)
    shuffled = rng.permutation(rows)
    for others in (rows, shuffled):
        means, pairs, _ = hm.moment_agreement(shuffled[:300], shuffled[300:], others=others)
        assert means.others > 0.98
        assert pairs.others > 0.9
