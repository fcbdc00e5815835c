"""The page on words: all its Python runs, in order and unchanged, and finds the topics."""

import re

import numpy as np

from answers import run_page

TOPICS = (
    "engine wheel brake road gear fuel driver tyre",
    "goal match team referee stadium league score coach",
    "orbit planet comet telescope galaxy star moon gravity",
    "flour butter oven sugar dough yeast recipe bake",
)


def test_the_python_runs(capsys):
    assert run_page("docs/words.md") == 4
    out = capsys.readouterr().out

    def line(start):
        return next(line for line in out.splitlines() if line.startswith(start))

    def numbers(start):
        return [float(text) for text in re.findall(r"-?\d+\.\d+", line(start))]

    _, low, high = numbers("nats per document")
    exact = numbers("exact")[0]
    assert low - 0.02 < exact < high + 0.02
    ours, alone = numbers("perplexity")
    assert ours < 0.7 * alone
    # Ten seconds decide its width. The shortest document has 10 words, and even there the interval
    # tells the model from one distribution of words.
    assert high - low < 10 * np.log(alone / ours)
    beside = line("beside oven:").split()[2:]
    assert np.isin(beside, TOPICS[3].split()).mean() > 0.8
    drawn, given = re.findall(r"\[([\d ]+)\]", out.splitlines()[-1])
    assert drawn.split() == given.split()
