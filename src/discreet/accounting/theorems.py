"""The theorems that guarantees rest on, by name.

``Guarantee.theorem`` holds one of these names, or several joined by ``"; "``. The proof
of each is the page ``docs/proofs/<name>.md`` of the source distribution. A name that is
not listed, such as one of an algorithm of your own, is allowed and stands for itself.
"""

from __future__ import annotations

THEOREMS = {
    "objective-perturbation/sharp": "objective perturbation by reduction to one dimension",
    "objective-perturbation/logistic": "objective perturbation of the logistic loss, by its slope "
    "and curvature together",
    "objective-perturbation/vertices": "objective perturbation of a loss whose gradients lie in a "
    "polytope",
    "objective-perturbation/rkw23": "objective perturbation (Redberg, Koskela and Wang 2023)",
    "objective-perturbation/kst12": "objective perturbation (Kifer, Smith and Thakurta 2012)",
    "objective-perturbation/gamma": "objective perturbation with gamma noise",
    "objective-perturbation/gamma-logistic": "objective perturbation of the logistic loss with "
    "gamma noise, by its slope and curvature together",
    "objective-perturbation/approximate-minima": "approximate minima perturbation (Iyengar et al. "
    "2019, corrected)",
    "objective-perturbation/newton-steps": "noisy Newton steps after objective perturbation, "
    "composed",
    "objective-perturbation/two-runs": "two runs of objective perturbation composed",
    "objective-perturbation/groups": "objective perturbation where a group of rows is protected",
    "output-perturbation": "output perturbation (Chaudhuri, Monteleoni, Sarwate 2011)",
    "sufficient-statistics": "noisy second moments (Vu, Slavkovic 2009; Wang 2018), exact integer "
    "sums",
    "inference/augmented-moments": "noisy second moments of rows and labels together, for "
    "intervals",
    "inference/curvature": "noisy matrices at released weights, for intervals",
    "noisy-gradient/full-batch": "noisy gradient descent, exact Gaussian composition",
    "noisy-gradient/poisson": "noisy gradient descent on Poisson batches",
    "noisy-gradient/capped": "noisy gradient descent on Poisson batches with a cap",
    "noisy-gradient/fixed-size": "noisy gradient descent on batches without replacement",
    "noisy-gradient/gamma": "noisy gradient descent with gamma noise, basic composition",
    "noisy-gradient/hidden-state": "last iterate of noisy gradient descent (Bok, Su, Altschuler "
    "2024)",
    "noisy-gradient/bst14": "Bassily, Smith, Thakurta 2014, algorithm 1, accounted exactly",
    "noisy-newton": "noisy Newton steps, exact composition",
    "mirror-descent": "noisy mirror descent (Talwar, Thakurta, Zhang 2014), exact composition",
    "bolt-on": "bolt-on permutation SGD (Wu et al. 2017)",
    "prefix-sums": "Gaussian noise on lower-triangular sums of adaptive vectors (Denisov et al. "
    "2022)",
    "frank-wolfe/polytope": "private Frank-Wolfe, vertices by a private choice (Talwar, Thakurta, "
    "Zhang 2015, corrected)",
    "frank-wolfe/gaussian": "private Frank-Wolfe, Gaussian gradients (Talwar, Thakurta, Zhang "
    "2015, corrected)",
    "support-selection": "private choice of features, then a fit (Kifer, Smith, Thakurta 2012, "
    "corrected)",
    "exponential-sampling/exact": "exponential mechanism (McSherry, Talwar 2007; Bassily, Smith, "
    "Thakurta 2014)",
    "exponential-sampling/regularised": "regularised exponential mechanism (Gopi, Lee, Liu 2022)",
    "exponential-sampling/grid-walk": "grid walk with a proved step count (after Applegate, Kannan "
    "1991)",
    "exponential-sampling/localization": "localization with exponential sampling (Bassily, Smith, "
    "Thakurta 2014)",
    "quantiles": "exponential mechanism with ranks or the pinball loss, in closed form",
    "unbounded-quantile": "first candidate that enough values lie below, without bounds (Durfee "
    "2023, constants worked out)",
    "partition-selection": "values that may be named, kept with optimal chances (Desfontaines et "
    "al. 2022)",
    "column-moments": "noisy means and squares of bounded columns",
    "noisy-covariance": "noisy second moments of rows (Dwork, Talwar, Thakurta, Zhang 2014, "
    "sharpened)",
    "purification": "purification of an approximate guarantee (Lin et al. 2025)",
    "accuracy-first/above-threshold": "noise reduction and AboveThreshold (Ligett et al. 2017, "
    "corrected and sharpened)",
    "accuracy-first/certified-stop": "noise reduction on second moments, stopped by a certificate "
    "from released values (Ligett et al. 2017, improved)",
    "accuracy-first/doubling": "composition of fresh releases and tests (Ligett et al. 2017, "
    "doubling)",
    "counted-rows": "a noisy count of the rows, and the plan for so many",
    "learned-clip": "a rough run, the size of its residuals, and one of several runs",
    "composition/fixed": "composition of releases fixed in advance",
    "composition/parallel": "the largest of disjoint parts",
    "composition/ledger": "filter of a ledger: fully adaptive composition",
    "evaluation": "noise on sums over rows that a fixed model scores",
    "tuning/best-of-random-tries": "best of a random number of tries, by its profile",
    "tuning/every-candidate": "every candidate once and one choice on disjoint rows",
    "local/randomised-response": "local privacy: randomised response on one bit, for any two "
    "records",
    "local/shuffled": "shuffled randomised response on one bit",
    "lemmas/relations": "what one neighbour changes, and how one relation follows from another",
    "lemmas/groups": "a group that counts as k rows moves sums by at most k times a row's part",
    "lemmas/gaussian": "the Gaussian mechanism and its exact composition",
    "lemmas/exact-noise": "noise that is exact on a public grid",
    "lemmas/rounding-of-sums": "sums over rows in floating point move by little more than one row",
}
"""Titles of the theorems, by name. Each has a page, and nothing else has one."""

_JOINED = "; "


def theorems(*names: str) -> str:
    """Return the text that names several theorems, each once, in the order of their first use.

    >>> theorems("composition/fixed", "quantiles; composition/fixed")
    'composition/fixed; quantiles'
    """
    return _JOINED.join(dict.fromkeys(n for name in names for n in name.split(_JOINED)))


def proofs(text: str) -> tuple[tuple[str, str | None], ...]:
    """Return the title and the page of each theorem that a text names.

    >>> proofs("quantiles")[0][1]
    'docs/proofs/quantiles.md'
    >>> proofs("a theorem of your own")
    (('a theorem of your own', None),)
    """
    return tuple(
        (THEOREMS[name], f"docs/proofs/{name}.md") if name in THEOREMS else (name, None)
        for name in text.split(_JOINED)
    )


def in_words(text: str) -> tuple[str, ...]:
    """Return what each theorem of a text says, and where it is proved.

    >>> in_words("quantiles")[0][-26:]
    '(docs/proofs/quantiles.md)'
    """
    return tuple(title if page is None else f"{title} ({page})" for title, page in proofs(text))
