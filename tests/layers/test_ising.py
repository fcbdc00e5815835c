import pytest

import harmonium as hm

EXAMPLES = [hm.Ising(4)]


def test_zeros_are_refused():
    with pytest.raises(hm.InputError, match="an Ising unit takes the values -1 and \\+1; got 0"):
        hm.Ising(2).validate([[1, 0]])
