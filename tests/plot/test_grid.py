import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import image_grid, save_figure


def test_images_stand_in_a_grid_and_rows_without_a_shape_in_a_matrix(tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (30, 16))
    for shape in ((4, 4), "square", (2, 8), None):
        figure = image_grid(rows, image_shape=shape)
        assert save_figure(figure, tmp_path / "grid.png").stat().st_size > 1_000


def test_a_picture_of_many_rows_is_no_taller_than_a_page():
    assert image_grid(np.zeros((2_000, 16))).get_size_inches()[1] <= 12.0


def test_a_shape_that_does_not_fit_is_refused():
    with pytest.raises(hm.InputError, match="16"):
        image_grid(np.zeros((3, 16)), image_shape=(3, 3))
