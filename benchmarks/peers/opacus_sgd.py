"""Opacus: DP-SGD with Poisson sampling on one linear layer, last half of the iterates averaged."""

import warnings

import numpy as np
import opacus
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from protocol import serve
from torch.utils.data import DataLoader, Dataset


class Table(Dataset):
    """Rows fetched a batch at a time, which spares the peer one Python call per row."""

    def __init__(self, X, y):
        self.X = torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
        self.y = torch.from_numpy(y.astype(np.float32))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.X[index], self.y[index]

    def __getitems__(self, indices):
        return [self.X[indices], self.y[indices]]


def calibrate(epsilon, delta, setting, shape):
    """Calibrate with the peer's tightest accountant, to a thousandth of epsilon."""
    return get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=delta,
        sample_rate=setting["rate"],
        steps=setting["steps"],
        accountant="prv",
        epsilon_tolerance=epsilon / 1000,
    )


def fit(X, y, noise, setting, seed):
    """Run DP-SGD from zero for a fixed number of steps; several classes get weights each."""
    torch.manual_seed(seed)
    steps, classes = setting["steps"], int(y.max()) + 1
    model = torch.nn.Linear(X.shape[1], classes if classes > 2 else 1, bias=False)
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
    logistic, softmax = torch.nn.BCEWithLogitsLoss(), torch.nn.CrossEntropyLoss()
    done, total = 0, np.zeros(tuple(model._module.weight.shape))
    while done < steps:
        for rows, labels in loader:
            optimizer.zero_grad()
            scores = model(rows)
            loss = softmax(scores, labels.long()) if classes > 2 else logistic(scores[:, 0], labels)
            loss.backward()
            optimizer.step()
            done += 1
            if done > steps // 2:
                total += model._module.weight.detach().numpy()
            if done == steps:
                break
    return np.squeeze(total / (steps - steps // 2), axis=0 if classes <= 2 else ())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    serve(
        calibrate,
        fit,
        {"opacus": opacus.__version__, "torch": torch.__version__},
        needs=("rate", "steps"),
    )
