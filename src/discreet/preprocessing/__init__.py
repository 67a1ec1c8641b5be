"""Transformers that learn from rows with a guarantee, and what whole pipelines cost."""

from discreet.preprocessing.pca import PrivatePCA
from discreet.preprocessing.pipelines import pipeline_guarantee
from discreet.preprocessing.private_bounds import PrivateBounds
from discreet.preprocessing.private_categories import PrivateCategories
from discreet.preprocessing.scaler import PrivateStandardScaler

__all__ = [
    "PrivateBounds",
    "PrivateCategories",
    "PrivatePCA",
    "PrivateStandardScaler",
    "pipeline_guarantee",
]
