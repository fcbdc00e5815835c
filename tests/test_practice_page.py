"""The page on practice: all its Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_runs(capsys):
    assert run_page("docs/practice.md") == 14
    said = capsys.readouterr().out
    assert "update_ratio" in said
    assert "0% of the weights" not in said.splitlines()
    activity = dict(line.split() for line in said.splitlines() if line[:5] in ("free ", "spars"))
    assert abs(float(activity["sparse"]) - 0.1) < abs(float(activity["free"]) - 0.1)
    kept, learned = (float(word) for word in said.splitlines()[-1].split())
    assert abs(kept - learned) < 1e-2
