"""Columns with a role of their own in the command: weights of rows, and cells that are missing."""

import json
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm


def test_the_weight_of_a_row_counts_in_training_and_in_scores(cli, no_report):
    outcomes = {"000": 1, "011": 11, "101": 21, "110": 31}
    lines = [f"{outcome},{count}" for outcome, count in outcomes.items()]
    Path("counts.csv").write_text("\n".join(["outcome,count", *lines]) + "\n")
    command = "train counts.csv --weight count --hidden 3 --epochs 8000 --method exact --lr 0.3"
    ending = cli(f"{command} --validation 0 --json --out run")
    assert ending.status == 0, ending.err
    rows = np.array([[int(sign) for sign in outcome] for outcome in outcomes])
    repeated = rows.repeat(list(outcomes.values()), axis=0)
    expected = hm.log_likelihood(hm.load("run"), repeated).value
    assert json.loads(ending.out)["log_likelihood"]["value"] == pytest.approx(expected, abs=1e-4)
    entropy = -sum(n / 64 * np.log(n / 64) for n in outcomes.values())
    assert expected == pytest.approx(-entropy, abs=0.15)  # one of equal weights has −1.39
    scored = cli("evaluate run counts.csv --quick --json")  # the weight is that of the run
    value = json.loads(scored.out)["log_likelihood"]["value"]
    assert value == pytest.approx(expected, abs=1e-4)


def test_drawn_rows_lack_cells_as_often_as_the_data(cli, no_report):
    rng = np.random.default_rng(0)
    lines = ["a,b,c"]
    for _ in range(200):
        has_b = rng.random() < 0.6
        numbers = rng.normal(size=2).round(2)
        b, c = (numbers[1], rng.choice(["u", "v"])) if has_b else ("", "")
        lines.append(f"{numbers[0]},{b},{c}")
    Path("gaps.csv").write_text("\n".join(lines) + "\n")
    assert cli("train gaps.csv --hidden 2 --epochs 2 --out run").status == 0
    drawn = cli("sample run -n 500 --sweeps 4 --with-missing")
    cells = [line.split(",") for line in drawn.out.splitlines()[1:]]
    assert all(a and bool(b) == bool(c) for a, b, c in cells)
    assert np.mean([not b for _, b, _ in cells]) == pytest.approx(0.4, abs=0.1)
    held = cli("sample run -n 20 --sweeps 4 --with-missing --given b=0.5").out
    assert all(line.split(",")[1] for line in held.splitlines()[1:])
    Path("whole.csv").write_text("a,b\n" + "".join(f"{i % 7}.5,{i % 3}.25\n" for i in range(60)))
    assert cli("train whole.csv --hidden 2 --epochs 2 --out whole").status == 0
    refused = cli("sample whole -n 2 --with-missing")
    assert refused.status == 2
    assert "expected a run on rows with missing values" in refused.err
