"""Hand-written PCD-k in PyTorch: eager, compiled, or a CUDA graph, in float32 or bfloat16.

On a GPU where there is one. A CUDA graph is recorded once and replayed, so that an update costs one
launch instead of dozens.
"""

import torch
from workloads import CannotError

RATE = 0.01
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WARM_UP = 3  # calls before a graph is recorded, as PyTorch asks for


def repeated(step, state, is_compiled, is_graph):
    """Return a function that makes one step; in a graph it changes the state in place."""
    call = torch.compile(step) if is_compiled else step
    now = list(state)

    def once():
        with torch.no_grad():
            now[:] = call(*now)

    def in_place():
        with torch.no_grad():
            for old, new in zip(state, call(*state), strict=True):
                old.copy_(new)

    if not is_graph:
        return once
    if DEVICE == "cpu":
        raise CannotError("it has no graphs on a CPU")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            in_place()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        in_place()
    return graph.replay


def finished():
    """Wait for the device."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def device_mib():
    """Return the largest memory that was in use on the GPU, in MiB; None on a CPU."""
    if DEVICE == "cpu":
        return None
    return torch.cuda.max_memory_allocated() / 2**20


def train(load, compiled=False, short=False, graph=False):
    """Make updates in a Python loop over one step."""
    torch.manual_seed(0)
    dtype = torch.bfloat16 if short else torch.float32
    data = torch.from_numpy(load.data()).to(DEVICE, dtype)
    n = len(data)
    batch = load.batch
    rows = data[:batch].clone()
    w = 0.01 * torch.randn(load.visible, load.hidden, device=DEVICE)
    a = torch.zeros(load.visible, device=DEVICE)
    b = torch.zeros(load.hidden, device=DEVICE)
    h = torch.zeros(batch, load.hidden, dtype=dtype, device=DEVICE)

    def draw(logits):
        return torch.bernoulli(torch.sigmoid(logits)).to(dtype)

    def update(w, a, b, h):
        coarse = w.to(dtype)
        for _ in range(load.k):
            v = draw((h @ coarse.T).float() + a)
            inputs = (v @ coarse).float() + b
            h = draw(inputs)
        positive = torch.sigmoid((rows @ coarse).float() + b)
        negative = torch.sigmoid(inputs)
        gradient = (rows.T @ positive.to(dtype)).float() - (v.T @ negative.to(dtype)).float()
        w = w + RATE / batch * gradient
        a = a + RATE / batch * (rows.float().sum(0) - v.float().sum(0))
        b = b + RATE / batch * (positive.sum(0) - negative.sum(0))
        return w, a, b, h

    step = repeated(update, (w, a, b, h), compiled, graph)

    def run(updates):
        for t in range(updates):
            first = (t * batch) % (n - batch + 1)
            rows.copy_(data[first : first + batch])
            step()
        finished()
        return updates

    return run


def sample(load, compiled=False, short=False, graph=False):
    """Make sweeps of all chains."""
    dtype = torch.bfloat16 if short else torch.float32
    w, a, b = (torch.from_numpy(x).to(DEVICE) for x in load.model())
    w = w.to(dtype)

    def sweep(v):
        h = torch.bernoulli(torch.sigmoid((v @ w).float() + b)).to(dtype)
        return (torch.bernoulli(torch.sigmoid((h @ w.T).float() + a)).to(dtype),)

    v = torch.zeros(load.batch, load.visible, dtype=dtype, device=DEVICE)
    step = repeated(sweep, (v,), compiled, graph)

    def run(sweeps):
        for _ in range(sweeps):
            step()
        finished()
        return sweeps

    return run
