"""Rows that stay with the workers of a Dask cluster."""

from discreet.data.cluster.crew import Cluster, cluster_of
from discreet.data.cluster.spread import spread_rows, sums_of

__all__ = ["Cluster", "cluster_of", "spread_rows", "sums_of"]
