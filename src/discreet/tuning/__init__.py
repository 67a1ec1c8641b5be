"""Settings chosen on sensitive rows, with one guarantee for the whole search."""

from discreet.tuning.plan import SearchPlan
from discreet.tuning.search import PrivateSearch
from discreet.tuning.tries import draw_tries

__all__ = ["PrivateSearch", "SearchPlan", "draw_tries"]
