"""From an alignment to its model, and to scores, mutants, contacts, motifs and new sequences."""

import contextlib
import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm
from answers import strict
from cli.conftest import leave_out_report
from harmonium.cli import main
from harmonium.sequences import read_sequences

PAIRS = ["AU", "UA", "GC", "CG"]
STEM = [(1, 12), (2, 11), (3, 10), (4, 9)]  # columns, counted from 0


def written(path, rows=300, seed=0):
    """Write hairpins: four pairs of bases that match, a loop and two free ends."""
    rng = np.random.default_rng(seed)
    lines = []
    for k in range(rows):
        row = list(rng.choice(list("ACGU"), 14))
        for i, j in STEM:
            row[i], row[j] = PAIRS[rng.integers(4)]
        row[5:9] = "GAAA"
        lines += [f">rna{k}/11-24 a hairpin", "".join(row)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    written(folder / "hairpins.fasta")
    options = "--hidden 16 --chains 50 --batch 50 --epochs 250 --lr 0.3 --validation 0 --out run"
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        leave_out_report(patch)
        with pytest.raises(SystemExit) as ended:
            main(f"train hairpins.fasta {options}".split())
    assert not ended.value.code
    return folder


@pytest.fixture(autouse=True)
def run(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)


def table(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_run_keeps_its_sites():
    assert json.loads(Path("run/sites.json").read_text())["alphabet"]["letters"] == "-ACGU"
    assert str(hm.load("run").visible) == "Potts(14, states=5)"


def test_contacts_are_the_pairs_of_the_stem(cli):
    summary = strict(cli("contacts run --json").out)
    pairs = {(pair["column_1"] - 1, pair["column_2"] - 1) for pair in summary["best"][:4]}
    assert pairs == set(STEM)


def test_contacts_beside_a_structure(cli):
    Path("d.txt").write_text("".join(f"{i + 1} {j + 1} 5.5\n" for i, j in STEM) + "1 14 20\n")
    ended = cli("contacts run --structure d.txt --out pairs.csv")
    assert "5.5 Å" in ended.out
    assert float(table("pairs.csv")[0]["distance"]) == 5.5
    assert cli("contacts run --structure d.txt --out map.png").status == 0
    assert Path("map.png").stat().st_size > 1000
    for content, message in (("1 99 3\n", "from 1 to 14; got 99"), ("1 2\n", "at least three")):
        Path("bad.txt").write_text(content)
        ended = cli("contacts run --structure bad.txt")
        assert (ended.status, message in ended.err) == (2, True)


def test_mutants_of_the_loop_and_of_the_stem_are_harmful(cli):
    assert cli("scan run rna5 --out scan.csv").status == 0
    rows = table("scan.csv")
    assert len(rows) == 14 * 3
    raw = read_sequences("hairpins.fasta")
    sequence = raw.letters[5].tobytes().decode()
    at = {int(row["column"]): row for row in rows}
    assert at[1]["mutant"].startswith(f"{sequence[0]}11")
    by_column = {c: np.mean([float(r["score"]) for r in rows if int(r["column"]) == c]) for c in at}
    assert max(by_column[c] for c in range(2, 14)) < min(by_column[c] for c in (1, 14)) - 0.5
    assert cli("scan run --out map.png").status == 0
    Path("other.fasta").write_text(f">wild/1-14\n{sequence}\n")
    assert strict(cli("scan run other.fasta --json").out)["most_harmful"][0]["score"] < -1
    assert "one sequence named 'rna999'" in cli("scan run rna999").err


def test_sequences_are_scored(cli):
    mixed = read_sequences("hairpins.fasta").letters[:20].copy()
    rng = np.random.default_rng(0)
    mixed[10:] = rng.permuted(mixed[10:], axis=1)
    rows = [row.tobytes().decode() for row in mixed]
    Path("some.fasta").write_text("".join(f">s{k}\n{row}\n" for k, row in enumerate(rows)))
    ended = cli("score some.fasta run --out scores.csv")
    assert "per site" in ended.out
    log_p = [float(row["log_p"]) for row in table("scores.csv")]
    assert min(log_p[:10]) > max(log_p[10:])
    assert strict(cli("score some.fasta run --json").out)["sequences"] == 20
    Path("short.fasta").write_text(">a\nACGU\n>b\nACGU\n")
    assert "14 columns, as in the model's data; got 4" in cli("score short.fasta run").err


def test_new_sequences(cli):
    assert cli("sample run -n 50 --sweeps 100 --given 1=A,2=G --beta 2 --out new.fasta").status == 0
    letters = read_sequences("new.fasta").letters
    assert letters.shape == (50, 14)
    assert {row.tobytes()[:2] for row in letters} == {b"AG"}
    matching = [(letters[:, i] + letters[:, j])[:, None] for i, j in STEM]
    sums = [sum(map(ord, pair)) for pair in PAIRS]
    assert np.isin(np.concatenate(matching, 1), np.array(sums, np.uint8)).mean() > 0.9
    printed = cli("sample run -n 2 --sweeps 20").out
    assert printed.count(">sample_") == 2
    assert len(strict(cli("sample run -n 2 --sweeps 20 --json").out)["values"]) == 2
    # X is the letter of an unknown residue, to be filled in.
    Path("half.fasta").write_text(">half\nAGXXXGAAAXXXCA\n")
    half = cli("sample run -n 5 --sweeps 20 --given half.fasta").out.split()[1::2]
    assert {(word[:2], word[5:9], word[12:]) for word in half} == {("AG", "GAAA", "CA")}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("99=A", "one of the 14 modelled columns"),
        ("1=B", "one of the letters -ACGU; got 'B'"),
        ("first=A", "COLUMN=LETTER; got 'first=A'"),
    ],
)
def test_what_cannot_be_given_is_named(cli, given, message):
    ended = cli(f"sample run -n 2 --given {given}")
    assert (ended.status, message in ended.err) == (2, True)


def test_motifs(cli):
    summary = strict(cli("motifs run --units 3 --json").out)
    assert len(summary["units"]) == 3
    assert len(summary["units"][0]["high"]) == 3
    columns = {letter["column"] - 1 for letter in summary["units"][0]["letters"]}
    assert columns & {column for pair in STEM for column in pair}
    ended = cli("motifs run --units 2 --out logos.png")
    assert "most on in" in ended.out
    assert Path("logos.png").stat().st_size > 1000


def test_files_are_not_overwritten(cli):
    for command in ("sample run -n 2 --out x.fasta", "scan run --out x.fasta.csv"):
        name = command.split()[-1]
        Path(name).write_text("mine")
        ended = cli(command)
        assert (ended.status, Path(name).read_text()) == (2, "mine")
    assert "ending in .fasta" in cli("sample run -n 2 --out x.csv").err


def test_commands_on_other_runs(cli, trained):
    for command in ("scan", "contacts", "motifs"):
        ended = cli(command, str(trained))
        assert (ended.status, "a run on an alignment" in ended.err) == (2, True)


def test_evaluation(cli):
    ended = cli("evaluate run --quick")
    assert "per unit" in ended.out
    assert cli("evaluate run other.fasta --quick").status == 2
    assert cli("evaluate run hairpins.fasta --quick --method exact").status == 0


def test_a_run_is_resumed_and_described(cli, no_report):
    assert cli("resume run --epochs 252").status == 0
    assert "alphabet = auto" in cli("info run").out
    assert "300 sequences × 14 sites (rna)" in cli("info hairpins.fasta").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--alphabet protein", "only the letters ACGU; leave the alphabet out"),
        ("--visible gaussian", "an alignment without --visible, --scale or --states"),
        ("--identity 7", "--identity: expected a fraction of sites"),
    ],
)
def test_what_does_not_fit_an_alignment_is_named(cli, options, message):
    ended = cli(f"train hairpins.fasta --out new {options}")
    assert (ended.status, message in ended.err) == (2, True)
    assert not Path("new").exists()
