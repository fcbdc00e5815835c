"""The reference data, in the folder that HARMONIUM_DATA names: paths, MNIST, and binary sets."""

import os
import sys
from pathlib import Path

import numpy as np

PIXELS = 784  # of MNIST's pictures


def stored(name: str) -> Path | None:
    """Return the path of a file of the reference data, None where it is not on this computer."""
    folder = os.environ.get("HARMONIUM_DATA")
    if not folder or not Path(folder, name).exists():
        return None
    return Path(folder, name)


def reference(name: str) -> Path:
    """Return the path of a file of the reference data; without it the program ends."""
    path = stored(name)
    if path is None:
        sys.exit(f"set HARMONIUM_DATA to the folder of reference data that holds {name}")
    return path


def binarised_mnist(part: str) -> np.ndarray:
    """Return the rows of MNIST's fixed binarisation, 0 and 1: "train", "valid" or "test"."""
    with np.load(reference("mnist/binarized_mnist.npz")) as archive:
        return np.unpackbits(archive[part], axis=1, count=PIXELS)


def grey_mnist(part: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """Return MNIST's grey levels, 0 to 255, shape (rows, 784), and the labels."""
    with np.load(reference(f"mnist/mnist_{part}_gray.npz")) as archive:
        return archive["x"].reshape(-1, PIXELS), archive["y"]


def zeros_and_ones() -> tuple[np.ndarray, np.ndarray]:
    """Return the 12,665 zeros and ones of the training set, thresholded at one half, and labels."""
    grey, labels = grey_mnist()
    is_chosen = labels <= 1
    return (grey[is_chosen] >= 128).astype(np.uint8), labels[is_chosen]


def binary_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and test rows of a binary set for density estimation."""
    with np.load(reference(f"debd/{name}.npz")) as archive:
        columns = int(archive["n_visible"])
        train = np.unpackbits(archive["train"], axis=1, count=columns)
        test = np.unpackbits(archive["test"], axis=1, count=columns)
    return train, test
