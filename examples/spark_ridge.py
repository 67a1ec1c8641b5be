"""Ridge regression on a Spark data frame: workers sum, the driver draws noise and solves.

Needs Spark (`pip install pyspark` and Java). Run it with `python examples/spark_ridge.py`.
"""

import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

from discreet import Bounds, PrivateRidge
from discreet.data import ArraySource
from discreet.noise import System

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run this Python
spark = SparkSession.builder.master("local[2]").appName("ridge").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

# A table of your own comes from spark.read.parquet(...).
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(20_000, 3))
table = pd.DataFrame(X, columns=["age", "size", "dose"])
table["level"] = X @ [0.5, -0.2, 0.1]
frame = spark.createDataFrame(table).repartition(4)

# The plan is made from public values: bounds, numbers of columns and of rows.
features = ["age", "size", "dose"]
bounds = Bounds(features=(-1, 1), label=(-1, 1))
model = PrivateRidge(bounds=bounds, epsilon=1.0, algorithm="sufficient-statistics")
plan = model.plan(n_features=3, n_rows=20_000)


def partial(batches):
    """Sum the rows of one partition; every batch of Arrow gives whole numbers that add up."""
    for batch in batches:
        columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in features]
        label = batch.column("level").to_numpy(zero_copy_only=False)
        sums = plan.partial(ArraySource(np.column_stack(columns), label))
        yield pa.RecordBatch.from_pydict({"sums": pa.array([sums.tolist()])})


# Sums carry no noise: they are as secret as the rows, and stay in this program.
total = sum(np.array(row.sums) for row in frame.mapInArrow(partial, "sums array<long>").collect())
release = plan.finish(total, System())
coef, intercept = plan.problem.bounding.coefficients(release.weights)
print("coefficients", coef.round(2), "intercept", round(intercept, 2))
print(release.guarantee)
spark.stop()
