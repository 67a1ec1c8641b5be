"""Pictures for the docs and for talks, drawn from guarantees and from kept results.

``make figures`` draws all of them anew; the same results give the same files.
"""

from __future__ import annotations

from pathlib import Path

from arguments import parser_of
from discreet import Guarantee
from discreet.accounting import Gaussian, gaussian_multiplier
from discreet.report import attack_plot
from figures_choosing import draw_algorithms, draw_estimators
from figures_results import draw_defaults, draw_frontier

DOCS = Path(__file__).parents[1] / "docs"
DELTA = 1e-6


def promise(epsilon: float) -> Guarantee:
    """Return the guarantee of Gaussian noise at an epsilon."""
    return Guarantee(
        epsilon=epsilon,
        delta=DELTA,
        neighbours="zero-out",
        event=Gaussian(gaussian_multiplier(epsilon, DELTA)),
        theorem="lemmas/gaussian",
    )


def main() -> None:
    """Draw every picture."""
    parser_of(__doc__).parse_args()
    promises = {f"epsilon {e:g}": promise(e) for e in (8.0, 3.0, 1.0, 0.3)}
    attack_plot(DOCS / "attack.png", promises)
    draw_estimators(DOCS / "estimators.png")
    draw_algorithms(DOCS / "choosing.png")
    draw_frontier(DOCS / "frontier.png")
    draw_defaults(DOCS / "defaults.png")


if __name__ == "__main__":
    main()
