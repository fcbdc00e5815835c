"""rbms 0.5 (PyTorch): its training loop's steps without checkpoints, its AIS and its sums.

On a GPU where there is one.
"""

import numpy as np
import torch
from rbms.bernoulli_bernoulli.classes import BBRBM
from rbms.dataset.dataset_class import RBMDataset
from rbms.partition_function.ais import compute_partition_function_ais
from rbms.partition_function.exact import compute_partition_function
from rbms.potts_bernoulli.classes import PBRBM
from rbms.potts_bernoulli.utils import ensure_zero_sum_gauge
from rbms.training.pcd import fit_batch_pcd
from torch_by_hand import DEVICE, device_mib, finished  # noqa: F401 (the worker asks for it)
from workloads import repeated


def train(load):
    """Make updates as `rbms.training.pcd.train` does: freshly drawn rows, PCD-k, SGD."""
    x = load.data()
    is_binary = load.verb == "train"
    if not is_binary:
        x = x.astype(np.int32)
    data = RBMDataset(
        x,
        np.zeros(len(x), np.int32),
        np.ones(len(x), np.float32),
        np.arange(len(x)).astype(str),
        "rows",
        is_binary,
        device=DEVICE,
        dtype=torch.float32,
    )
    model = BBRBM
    if not is_binary:
        model = PBRBM
        data.data = data.data.to(torch.int32)
    params = model.init_parameters(load.hidden, data, DEVICE, torch.float32)
    for parameter in params.parameters():
        parameter.requires_grad_()
        parameter.grad = torch.zeros_like(parameter)
    state = {"chains": params.init_chains(load.batch)}
    optimizer = torch.optim.SGD(params.parameters(), lr=0.01, maximize=True)

    def run(updates):
        with torch.no_grad():
            for _ in range(updates):
                rows = torch.randperm(len(data), device=DEVICE)[: load.batch]
                batch = data.data[rows], data.weights[rows]
                optimizer.zero_grad(set_to_none=False)
                state["chains"], _ = fit_batch_pcd(
                    batch, state["chains"], params, load.k, 1.0, centered=False
                )
                optimizer.step()
                if not is_binary:
                    ensure_zero_sum_gauge(params)
        finished()
        return updates

    return run


potts = train


def model_of(load):
    return BBRBM(*(torch.from_numpy(x).to(DEVICE) for x in load.model()))


def sample(load):
    """Make sweeps by `sample_state`."""
    params = model_of(load)
    state = {"chains": params.init_chains(load.batch)}

    def run(sweeps):
        with torch.no_grad():
            state["chains"] = params.sample_state(n_steps=sweeps, chains=state["chains"])
        finished()
        return sweeps

    return run


def ais(load):
    """Make steps of `compute_partition_function_ais`."""
    params = model_of(load)

    def run(steps):
        with torch.no_grad():
            compute_partition_function_ais(load.batch, steps + 1, params)
        finished()
        return steps

    return run


def log_z(load):
    """Sum over all states of the hidden layer, which rbms holds in one array."""
    params = model_of(load)
    numbers = torch.arange(2**load.hidden, device=DEVICE)
    every = ((numbers[:, None] >> torch.arange(load.hidden, device=DEVICE)) & 1).float()

    with_states = torch.no_grad()(compute_partition_function)
    return repeated(lambda: (with_states(params, every), finished()), len(every))
