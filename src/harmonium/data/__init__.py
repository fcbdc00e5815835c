"""What a machine learns from: readers of files, built-in sets, and rows on the device."""

from .dataset import Dataset as Dataset
