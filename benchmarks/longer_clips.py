"""What a clip of residuals for the longest rows costs while rows are not very many.

``python benchmarks/longer_clips.py run`` fits ridge regression to the regressions of the choosing
half with ranges alone, and clips residuals at half the label range for a row of typical norm
(``1``), for the longest row (``longest``) and halfway. It writes
``results/typical_norms/longer_clips.json``: held-out losses, half a square, with standard errors,
and the rows per unit of noise of each cell.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np

from arguments import parser_of
from bank import SETS, half_of, load
from discreet import Bounds, PrivateRidge
from discreet.accounting import Budget
from discreet.problem import rows_against_noise
from forms import DELTA
from problems import data_directory

RESULT = Path(__file__).resolve().parent / "results" / "typical_norms" / "longer_clips.json"
ROWS, EPSILONS, SEEDS = (20_000, 50_000), (1.0, 8.0), 3


def main() -> None:
    """Fit every cell with every clip and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--data")
    data = data_directory(parser.parse_args().data)
    found = []
    for problem, (_, kind, _) in SETS.items():
        if kind != "regression" or half_of(problem) != "choosing" or problem.startswith("law-"):
            continue
        for rows in ROWS:
            train, test = load(problem, data, rows)
            if rows != ROWS[0] and len(train.y) <= ROWS[0]:
                continue
            low, high = train.label or (0.0, 1.0)
            bounds = Bounds(features=list(train.ranges), label=(low, high))
            for epsilon in EPSILONS:
                model = PrivateRidge(epsilon=epsilon, delta=DELTA, bounds=bounds)
                planned = model.plan(*reversed(train.X.shape)).problem
                longest = planned.row_norm / planned.typical_norm
                cell = {"problem": problem, "rows": len(train.y), "epsilon": epsilon}
                cell["rows per noise"] = rows_against_noise(planned, Budget(epsilon, DELTA))
                for name, clip in (("1", 1.0), ("half", math.sqrt(longest)), ("longest", longest)):
                    losses = []
                    for seed in range(SEEDS):
                        model.set_params(clip=clip, random_state=seed).fit(train.X, train.y)
                        guess = (2.0 * model.predict(test.X) - high - low) / (high - low)
                        losses.append(float(np.mean((guess - test.target) ** 2)) / 2)
                    error = float(np.std(losses, ddof=1)) / math.sqrt(SEEDS)
                    cell[name] = [float(np.mean(losses)), error]
                found.append(cell)
                print(cell, flush=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
