"""Hand-written PCD-k in PyTorch: eager or torch.compile, in float32 or with bfloat16 products."""

import torch

RATE = 0.01


def train(load, compiled=False, short=False):
    """Make updates in a Python loop over one step."""
    torch.manual_seed(0)
    dtype = torch.bfloat16 if short else torch.float32
    data = torch.from_numpy(load.data()).to(dtype)
    n, batch = len(data), load.batch
    w = 0.01 * torch.randn(load.visible, load.hidden)
    a, b = torch.zeros(load.visible), torch.zeros(load.hidden)
    h = torch.zeros(batch, load.hidden, dtype=dtype)

    def draw(logits):
        return torch.bernoulli(torch.sigmoid(logits)).to(dtype)

    def update(rows, w, a, b, h):
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

    step = torch.compile(update) if compiled else update
    state = {"parameters": (w, a, b, h)}

    def run(updates):
        with torch.no_grad():
            for t in range(updates):
                first = (t * batch) % (n - batch + 1)
                rows = data[first : first + batch]
                state["parameters"] = step(rows, *state["parameters"])
        return updates

    return run


def sample(load, compiled=False, short=False):
    """Make sweeps of all chains."""
    dtype = torch.bfloat16 if short else torch.float32
    w, a, b = map(torch.from_numpy, load.model())
    w = w.to(dtype)

    def sweep(v):
        h = torch.bernoulli(torch.sigmoid((v @ w).float() + b)).to(dtype)
        return torch.bernoulli(torch.sigmoid((h @ w.T).float() + a)).to(dtype)

    step = torch.compile(sweep) if compiled else sweep
    state = {"v": torch.zeros(load.batch, load.visible, dtype=dtype)}

    def run(sweeps):
        with torch.no_grad():
            for _ in range(sweeps):
                state["v"] = step(state["v"])
        return sweeps

    return run
