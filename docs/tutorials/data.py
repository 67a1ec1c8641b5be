"""Where the tutorials' public data is, and where to get it."""

from __future__ import annotations

import os
from pathlib import Path

SOURCES = {
    "nhanes-2009-2012/NHANESraw.csv.gz": "NHANESraw of the R package NHANES, as CSV",
    "diabetes130/dataset_diabetes.zip": "UCI repository, Diabetes 130-US hospitals",
    "electricity/elec.csv.gz": "the Elec2 data of Harries (1999), as CSV",
    "imdb/imdb_train_counts.npz": "word counts of the Large Movie Review Dataset",
    "adult/adult.data.gz": "UCI repository, Adult",
    "insurance/insurance.csv.gz": "Lantz, Machine Learning with R, insurance.csv",
    "w8a/w8a.bz2": "LIBSVM collection, w8a",
    "california-housing/cal_housing.data.gz": "StatLib, California housing",
}


def path(name: str) -> Path:
    """Return where a file is, or say where to get it."""
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    file = Path(os.environ.get("DISCREET_DATA", default)) / name
    if not file.exists():
        raise SystemExit(
            f"{name} is missing. It is {SOURCES[name]}. Put it below a directory that the "
            "environment variable DISCREET_DATA names."
        )
    return file
