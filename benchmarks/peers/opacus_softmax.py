"""Opacus: DP-SGD with Poisson sampling on one linear layer of several classes."""

import warnings

import numpy as np
import opacus
import torch
from opacus import PrivacyEngine
from opacus_sgd import Table, calibrate
from protocol import serve
from torch.utils.data import DataLoader


def fit(X, y, noise, setting, seed):
    """Run DP-SGD from zero for a fixed number of steps; return the mean of the last half."""
    torch.manual_seed(seed)
    steps, classes = setting["steps"], int(y.max()) + 1
    model = torch.nn.Linear(X.shape[1], classes, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=setting["step_size"], momentum=setting["momentum"]
    )
    # Opacus samples at rate 1 / len(loader), so the batch size must divide into whole batches.
    batch = -(-len(y) // round(1 / setting["rate"]))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(Table(X, y), batch_size=batch, collate_fn=lambda rows: rows),
        noise_multiplier=noise,
        max_grad_norm=setting["clip"],
    )
    loss = torch.nn.CrossEntropyLoss()
    done, total = 0, np.zeros((classes, X.shape[1]))
    while done < steps:
        for rows, labels in loader:
            optimizer.zero_grad()
            loss(model(rows), labels.long()).backward()
            optimizer.step()
            done += 1
            if done > steps // 2:
                total += model._module.weight.detach().numpy()
            if done == steps:
                break
    return total / (steps - steps // 2)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    serve(
        calibrate,
        fit,
        {"opacus": opacus.__version__, "torch": torch.__version__},
        needs=("rate", "steps"),
    )
