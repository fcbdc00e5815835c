"""A Keras run that is not told how: its length, its penalty, and the model that it ends with."""

import keras
import numpy as np
import pytest

import harmonium as hm
import harmonium.keras as hk

RNG = np.random.default_rng(5)
NOISE = (RNG.random((60, 10)) < 0.5).astype(np.float32)  # to learn any of it is overfitting
OTHERS = (RNG.random((40, 10)) < 0.5).astype(np.float32)
BACKEND = keras.backend.backend()


@pytest.fixture(autouse=True)
def _few_updates(monkeypatch):
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 40)
    monkeypatch.setattr("harmonium.training.arguments.MANY_EPOCHS", 10)


def new(rows=NOISE, optimizer=None, **options):
    rbm = hk.RBM(12, seed=0, chains=20, **options)
    rbm.adapt(rows)
    rbm.compile(optimizer)
    if optimizer is None:
        rbm.optimizer.learning_rate = 0.5  # so that few updates are enough to overfit
    return rbm


class Spoil(keras.callbacks.Callback):
    """Adds 5 to all weights before the last epoch: the last model is surely a worse one."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 19:
            for weight in self.model.trainable_variables:
                weight.assign(weight + 5)


@pytest.mark.parametrize("given", ["data", "split", "cd", "grey"])
def test_the_model_that_held_out_rows_like_best_is_restored(given, capsys):
    rbm = new(method="cd" if given == "cd" else "pcd")
    if given == "split":
        rows = np.concatenate([NOISE, OTHERS])
        held = {"validation_split": 0.4}
    else:
        rows = NOISE
        held = {"validation_data": (OTHERS,)}
    if given == "grey":
        rows = 0.2 + 0.7 * NOISE
        others = 0.2 + 0.7 * OTHERS
        held = {"validation_data": (others,)}
    history = rbm.fit(rows, verbose=0, callbacks=[Spoil()], **held)
    shown = history.history["val_log_likelihood"]
    assert len(shown) == 20  # 40 updates of two batches
    best = max(value for value in shown if np.isfinite(value))
    judged = others if given == "grey" else OTHERS.astype(int)
    likelihood = hm.log_likelihood(rbm.to_harmonium(), judged).value
    assert likelihood == pytest.approx(best, abs=1e-3)
    assert likelihood > shown[-1] + 0.1
    assert "the model is the one of epoch" in history.message
    assert capsys.readouterr().out == ""


def test_the_penalty_follows_the_gap_and_ends_with_the_run(capsys, monkeypatch):
    seen = []

    def twice(strength, prior, gap, stderr, size):
        seen.append((gap, stderr, size))
        return 2 * strength if len(seen) < 4 else strength

    monkeypatch.setattr("harmonium.training.judge.next_strength", twice)
    # All columns are equal; in the held-out rows, with the same means, neighbours are opposites.
    # Half the rows are up: both kinds of rows are equally probable, so that the gap is certain.
    column = np.tile([[0.0], [1.0]], (200, 1)).astype(np.float32)
    equal = np.tile(column, 10)
    opposite = np.tile(np.hstack([column, 1 - column]), 5)
    rbm = new(equal)
    rbm.optimizer.learning_rate = 0.1  # slow enough for the gap to grow, whatever the seed
    history = rbm.fit(equal, validation_data=(opposite,), batch_size=200, verbose=2)
    strengths = history.history["penalty"]
    assert strengths[0] == pytest.approx(1 / 400)
    assert strengths[-1] == pytest.approx(8 / 400)
    assert len(seen) >= 4
    assert all(np.isfinite(gap) and stderr > 0 and size > 0 for gap, stderr, size in seen)
    assert max(gap - 5 * stderr for gap, stderr, _ in seen) > 0
    assert "val_penalty" not in history.history
    assert f"harmonium: {history.message}." in capsys.readouterr().out
    assert "penalty" not in rbm.evaluate(NOISE, verbose=0, return_dict=True)
    assert "penalty" not in rbm.fit(NOISE, epochs=1, verbose=0).history
    assert "penalty" in rbm.fit(NOISE, verbose=0).history


def test_without_held_out_rows_the_last_model_is_kept():
    history = new().fit(NOISE, verbose=0)
    assert history.message.endswith("the last model is kept: no rows were held out")
    assert set(history.history["penalty"]) == {np.float32(1 / 60)}


@pytest.mark.parametrize("argument", ["epochs", "optimizer"])
def test_epochs_and_an_optimizer_that_are_given_are_used(argument):
    """The last model, without a penalty."""
    optimizer = keras.optimizers.SGD(0.05) if argument == "optimizer" else None
    options = {"epochs": 3} if argument == "epochs" else {}
    history = new(optimizer=optimizer).fit(NOISE, validation_data=(OTHERS,), verbose=0, **options)
    assert not {"penalty", "val_log_likelihood"} & set(history.history)
    assert len(history.history["loss"]) == (3 if argument == "epochs" else 1)
    visited_once = "the rows were visited once, as Keras does if `epochs` is not given"
    assert history.message == ("" if argument == "epochs" else visited_once)


def test_weighted_rows_and_callbacks_of_the_user():
    weights = np.ones(60)
    weights[:20] = 0
    seen = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: logs["penalty"])
    history = new().fit(NOISE, sample_weight=weights, callbacks=seen, verbose=0)
    assert history.history["penalty"][0] == pytest.approx(1 / 40)


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("ising", lambda: 2 * NOISE - 1),
        ("gaussian", lambda: RNG.normal(size=(60, 10)).astype(np.float32)),
        ("potts", lambda: np.eye(3, dtype=np.float32)[RNG.integers(0, 3, (60, 4))].reshape(60, 12)),
    ],
)
def test_other_units(kind, make):
    rows = make()
    rbm = new(rows, visible=hk.Potts(3) if kind == "potts" else kind)
    history = rbm.fit(rows[:40], validation_data=(rows[40:],), verbose=0)
    assert np.isfinite(history.history["val_log_likelihood"][-1])


def test_a_fraction_that_leaves_no_rows_is_refused():
    with pytest.raises(hm.InputError, match="validation_split: expected a fraction that leaves"):
        new().fit(NOISE, validation_split=0.999, verbose=0)
