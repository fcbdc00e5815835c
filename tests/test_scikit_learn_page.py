"""The page for scikit-learn users: all its Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_page("docs/scikit_learn.md") == 9
    said = capsys.readouterr().out.splitlines()
    assert float(said[0]) > 0.8
    theirs, ours = map(float, said[1].split())
    assert ours > theirs
