"""The README: its Python runs unchanged, and its links have targets that exist."""

import re
from pathlib import Path

from answers import run_page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_page("README.md")
    assert "exact, 256 states" in capsys.readouterr().out
    assert (tmp_path / "bars.safetensors").exists()


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_two_commands_are_named():
    assert "make demo" in README
    assert "make test" in README
