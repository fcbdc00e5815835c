"""What a run says of itself: divergence, scales, monitors, the progress bar, the summary."""

import os
import subprocess
import sys
import warnings

import keras
import numpy as np
import pytest

import harmonium as hm
import harmonium.keras as hk

RNG = np.random.default_rng(0)
STANDARD = RNG.normal(size=(200, 6)).astype(np.float32)
FACTORS = RNG.normal(size=(500, 3)) @ RNG.normal(size=(3, 16)) + 0.3 * RNG.normal(size=(500, 16))
BINARY = (RNG.random((200, 6)) < 0.4).astype(np.float32)


def ours(caught):
    """Return the warnings without those of NumPy, of tensors' __array__."""
    return [warning for warning in caught if "__array__" not in str(warning.message)]


def gaussian(rows, optimizer=None):
    rbm = hk.RBM(16, seed=0, visible="gaussian", chains=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the scale, which is tested elsewhere
        rbm.adapt(rows)
    rbm.compile(optimizer or keras.optimizers.SGD(0.05))
    return rbm


def test_a_gaussian_model_that_explodes_ends_with_the_model_before_and_says_so(as_numpy):
    rows = (FACTORS + 5).astype(np.float32)
    rbm = gaussian(rows)
    before = rbm.get_weights()
    with pytest.warns(hm.DivergenceWarning) as caught:
        history = rbm.fit(rows, epochs=20, batch_size=50, verbose=0)
    caught = ours(caught)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(history.history["loss"]) < 20
    message = str(caught[0].message)
    assert message.startswith("diverged: the loss was ")
    assert "Lower the learning rate and standardise the columns" in message
    assert history.message == message[:-1]
    for a, b in zip(before, rbm.get_weights(), strict=True):
        np.testing.assert_array_equal(as_numpy(a), as_numpy(b))


@pytest.mark.parametrize("rate", [1e6, 1e4])
@pytest.mark.parametrize("method", ["pcd", "cd"])
def test_a_rate_that_is_far_too_high_is_said_of_binary_rows_too(rate, method):
    rbm = hk.RBM(4, seed=0, chains=20, method=method)
    rbm.compile(keras.optimizers.SGD(rate))
    with pytest.warns(hm.DivergenceWarning, match="Lower the learning rate, and compile again"):
        rbm.fit(BINARY, epochs=3, batch_size=50, verbose=0)
    assert all(np.isfinite(w).all() for w in rbm.get_weights())


def test_the_last_model_that_was_looked_at_is_kept(monkeypatch):
    monkeypatch.setattr("harmonium.keras.watching.SECONDS_BETWEEN_COPIES", 0.0)

    class Raise(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                self.model.kernel.assign(np.full((6, 4), 1e30, np.float32))

    rbm = hk.RBM(4, seed=0, chains=20)
    rbm.compile(keras.optimizers.SGD(0.01))
    with pytest.warns(hm.DivergenceWarning, match="the model after epoch 2 is kept"):
        rbm.fit(BINARY, epochs=5, verbose=0, callbacks=[Raise()])
    assert abs(np.asarray(rbm.get_weights()[0])).max() < 1.0


def test_a_run_that_is_not_told_how_ends_with_a_model_that_is_finite(monkeypatch):
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 40)
    monkeypatch.setattr("harmonium.training.arguments.MANY_EPOCHS", 10)
    rbm = hk.RBM(4, seed=0, chains=20)
    rbm.compile()
    rbm.optimizer.learning_rate = 1e6
    with pytest.warns(hm.DivergenceWarning):
        history = rbm.fit(BINARY, validation_split=0.2, verbose=0)
    assert history.message.startswith("diverged: ")
    assert all(np.isfinite(w).all() for w in rbm.get_weights())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (STANDARD + 5 * np.eye(6)[3], "mean 4.8.* and standard deviation 1.* in column 3"),
        (STANDARD * [1, 1, 1000, 1, 1, 1], "standard deviation .* in column 2"),
        (STANDARD * 1e-3, "standard deviation 0.00"),
        (STANDARD * 60 + 128, "mean 1[0-9][0-9]"),
    ],
    ids=["offset", "one wide", "narrow", "grey"],
)
@pytest.mark.parametrize("call", ["adapt", "fit"])
@pytest.mark.filterwarnings("ignore:diverged")  # as some of them do at once
def test_columns_that_are_not_standardised_are_said_once(rows, message, call):
    rows = rows.astype(np.float32)
    rbm = hk.RBM(3, seed=0, visible="gaussian", chains=10)
    rbm.compile(keras.optimizers.SGD(0.0))
    uses = [lambda: rbm.fit(rows, epochs=1, verbose=0)]
    if call == "adapt":
        uses = [lambda: rbm.adapt(rows), *uses]
    with pytest.warns(UserWarning, match=f"{message}.*subtract each column's mean") as caught:
        [use() for use in uses]
    assert len([warning for warning in caught if "standard deviation" in str(warning.message)]) == 1


@pytest.mark.parametrize("rows", [STANDARD, abs(STANDARD) / 4, STANDARD * [1, 1, 1, 1, 1, 0]])
def test_columns_that_are_standardised_are_learned_in_silence(rows):
    rbm = hk.RBM(3, seed=0, visible="gaussian", chains=10)
    rbm.compile(keras.optimizers.SGD(0.01))
    rbm.adapt(rows)
    rbm.fit(rows, epochs=2, verbose=0)


def test_callbacks_that_act_on_the_loss_are_named_with_what_to_monitor():
    rbm = hk.RBM(3, seed=0, chains=10)
    rbm.compile(keras.optimizers.SGD(0.01))
    acting = [
        keras.callbacks.EarlyStopping("val_loss", patience=3),
        keras.callbacks.ReduceLROnPlateau("val_loss", patience=3),
    ]
    advice = "monitor 'val_pseudo_likelihood' with mode='max'"
    message = f"EarlyStopping and ReduceLROnPlateau: monitor='val_loss' is a free-energy.*{advice}"
    with pytest.warns(UserWarning, match=message) as caught:
        rbm.fit(BINARY, validation_split=0.2, epochs=1, verbose=0, callbacks=acting)
    caught = ours(caught)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    others = [
        keras.callbacks.EarlyStopping("val_pseudo_likelihood", mode="max"),
        keras.callbacks.ModelCheckpoint("never.keras", save_freq=10_000),
    ]
    rbm.fit(BINARY, validation_split=0.2, epochs=1, verbose=0, callbacks=others)


def test_gaussian_units_have_no_pseudo_likelihood_to_monitor():
    with pytest.warns(UserWarning, match="'val_reconstruction' with mode='min', or call compile()"):
        gaussian(STANDARD).fit(
            STANDARD,
            validation_split=0.2,
            epochs=1,
            verbose=0,
            callbacks=keras.callbacks.EarlyStopping("val_loss"),
        )


def shown(capsys):
    """Return what a progress bar showed, one entry for each time it was drawn."""
    return capsys.readouterr().out.replace("\x08", "").replace("\r", "\n")


def test_the_progress_bar_ends_with_the_epoch(capsys):
    rbm = hk.RBM(3, seed=0, chains=10)
    # PyTorch has one step an execution, and Keras counts no further there.
    steps = 1 if keras.backend.backend() == "torch" else 128
    rbm.compile(keras.optimizers.SGD(0.01), steps_per_execution=steps)
    rbm.fit(BINARY, epochs=1, batch_size=7)  # 29 batches
    rbm.evaluate(BINARY, None, 7)
    rbm.predict(BINARY, 7)
    said = shown(capsys)
    assert said.count("29/29") >= 3
    assert "128/" not in said
    assert "-1s" not in said
    rbm.fit(BINARY, None, 7, 1, 0)  # verbose by its place
    assert capsys.readouterr().out == ""


class Batches(keras.utils.PyDataset):
    """Two batches of 100 rows."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return (BINARY[100 * index : 100 * index + 100],)


def test_the_number_of_epochs_is_said_where_it_was_not_given(capsys, monkeypatch):
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 4)
    monkeypatch.setattr("harmonium.training.arguments.MANY_EPOCHS", 1)
    rbm = hk.RBM(3, seed=0, chains=10)
    rbm.compile()
    rbm.fit(BINARY, batch_size=100, verbose=2)
    assert "harmonium: 20 epochs of 2 updates, since neither" in capsys.readouterr().out
    history = rbm.fit(Batches(), shuffle=False, verbose=2)
    once = "the rows were visited once, as Keras does if `epochs` is not given"
    assert history.message == once
    assert f"harmonium: {once}." in capsys.readouterr().out


def test_the_summary_names_the_kernel_and_the_chains():
    rbm = hk.RBM(3, seed=0, chains=10)
    rbm.build((None, 6))
    lines = []
    rbm.summary(print_fn=lines.append)
    assert lines[-1].endswith("kernel 6 × 3 = 18, chains 10 × 3 = 30 (not trained)")


@pytest.mark.parametrize("name", ["old.h5", "old.HDF5"])
def test_the_older_format_is_refused_before_a_file_is_touched(name, tmp_path):
    path = tmp_path / name
    path.write_text("mine")
    rbm = hk.RBM(3, seed=0, chains=10)
    rbm.build((None, 6))
    with pytest.raises(hm.InputError, match=r"expected a name that ends in \.keras; got .*old"):
        rbm.save(path)
    assert path.read_text() == "mine"


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="the same process, whatever the backend"
)
@pytest.mark.parametrize("in_file", [None, "tensorflow"])
def test_jax_is_taken_where_tensorflow_is_not_installed(in_file, tmp_path):
    """Keras writes "tensorflow" into its file when it is imported without one, and then fails."""
    if in_file is not None:
        (tmp_path / "keras.json").write_text(f'{{"backend": "{in_file}"}}')
    code = (
        "import sys; sys.modules['tensorflow'] = None\n"
        "import harmonium.keras, keras\n"
        "assert keras.backend.backend() == 'jax'"
    )
    environment = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    environment["KERAS_HOME"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
