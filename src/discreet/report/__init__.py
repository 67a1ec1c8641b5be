"""Reports for people: the privacy card and pictures."""

from discreet.report.card import card_dict, card_text
from discreet.report.plots import accuracy_plot
from discreet.report.wording import render

__all__ = ["accuracy_plot", "card_dict", "card_text", "render"]
