"""Reports for people: the privacy card, the report and pictures."""

from discreet.report.about import About
from discreet.report.card import card_dict, card_text
from discreet.report.card_page import card_html
from discreet.report.checklist import checklist
from discreet.report.huggingface import huggingface_text
from discreet.report.plots import accuracy_plot, attack_plot
from discreet.report.registry import registry_text
from discreet.report.report_page import report_html
from discreet.report.wording import render

__all__ = [
    "About",
    "accuracy_plot",
    "attack_plot",
    "card_dict",
    "card_html",
    "card_text",
    "checklist",
    "huggingface_text",
    "registry_text",
    "render",
    "report_html",
]
