"""The page on practice: all its Python runs, in order and unchanged, but for the number of updates.

A run that sets its own end has 10,000 updates or more. Here a tenth is enough: what the page shows
of it, that few rows are cross-validated, is said at its start.
"""

from answers import run_page


def test_the_python_runs(capsys, monkeypatch):
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 1_000)
    assert run_page("docs/practice.md") == 15
    said = capsys.readouterr().out
    assert "update_ratio" in said
    assert "0% of the weights" not in said.splitlines()
    activity = dict(line.split() for line in said.splitlines() if line[:5] in ("free ", "spars"))
    assert abs(float(activity["sparse"]) - 0.1) < abs(float(activity["free"]) - 0.1)
    selected, learned = (float(word) for word in said.splitlines()[-1].split())
    assert abs(selected - learned) < 1e-2
