"""Reports for people: the privacy card and pictures."""

from discreet.report.card import card_dict, card_text, render
from discreet.report.plots import accuracy_plot

__all__ = ["accuracy_plot", "card_dict", "card_text", "render"]
