"""Answer a question about the columns of a run's table."""

from __future__ import annotations

from .._base.threefry import key_of
from ..inference import Answer, ask
from ..inference.questions import FEWEST_CHAINS
from ..io.storage import load
from .folder import RunFolder
from .options import check_count, check_seed


def ask_run(run: str, question: str, chains: int, sweeps: int, seed: int) -> list[Answer]:
    """Return the distributions of the columns that a question names.

    Args:
        run: the folder of a run on a table.
        question: as for `harmonium.ask`.
        chains: Gibbs chains, where the sum is not exact.
        sweeps: sweeps of each chain at first.
        seed: the random seed.

    Raises:
        InputError: not the folder of a run on a table, or columns or cells that it does not have.
    """
    check_count("--chains", chains, least=FEWEST_CHAINS)
    check_count("--sweeps", sweeps, least=2)
    check_seed(seed)
    rbm = load(run)
    columns = RunFolder(run).columns_of_table()
    return ask(rbm, columns, question, key=key_of(seed), chains=chains, sweeps=sweeps)
