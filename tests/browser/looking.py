"""What is looked for on a page in a browser, and the pages that are opened."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from discreet import (
    Boolean,
    Bounds,
    Categories,
    Guarantee,
    Ledger,
    PrivateLogisticRegression,
    PrivateRidge,
    Range,
    Schema,
    evaluate,
    rehearse,
)
from discreet.accounting import Approximate, Pure
from discreet.ledger.statement import statement
from discreet.report import About, card_html, report_html

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

FAULTS = """() => {
  const found = [], root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`overflow: ${root.scrollWidth} wide`);
  const inside = (a, b) => a.contains(b) || b.contains(a);
  const overlap = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
  const compare = (elements, where) => {
    const held = elements.map(e => [e, e.getBoundingClientRect()])
      .filter(([e, r]) => r.width > 0 && r.height > 0);
    for (let i = 0; i < held.length; i++)
      for (let j = i + 1; j < Math.min(held.length, i + 60); j++)
        if (!inside(held[i][0], held[j][0]) && overlap(held[i][1], held[j][1]))
          found.push(`overlap in ${where}: ${held[i][0].textContent.slice(0, 40)} / ` +
                     held[j][0].textContent.slice(0, 40));
  };
  compare([...document.querySelectorAll('h1,h2,h3,p,li,dt,dd,figcaption,th,td,text')], 'page');
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll('polyline,polygon,line,rect,circle')];
    if (frame.width < 40 || frame.height < 20 || drawn.length === 0) found.push('empty figure');
    if (!svg.getAttribute('aria-label') && !svg.querySelector(':scope > title'))
      found.push('figure without words');
    for (const word of svg.querySelectorAll('text')) {
      const r = word.getBoundingClientRect();
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.bottom > frame.bottom + 1)
        found.push(`cut off: ${word.textContent}`);
      if (r.height < 9) found.push(`too small to read: ${word.textContent}`);
    }
  }
  for (const figure of document.querySelectorAll('figure'))
    if (!figure.querySelector('svg')) found.push('empty figure');
  for (const cell of document.querySelectorAll('table'))
    if (!cell.querySelector('tbody td')) found.push('empty table');
  for (const landmark of ['header', 'main', 'h1', 'title'])
    if (document.querySelectorAll(landmark).length < 1) found.push(`no ${landmark}`);
  return found;
}"""
"""Says what is wrong with the layout of the page that is open."""


def chromium() -> str | None:
    """Return where a browser is."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


def people(count: int, seed: int) -> pd.DataFrame:
    """Return rows like those of a hospital."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": random.uniform(18, 90, count),
            "hours": random.uniform(0, 80, count),
            "smoker": random.random(count) < 0.3,
            "ward": random.choice(["surgery", "medicine", "other"], count),
        }
    )
    score = 0.05 * (table["age"] - 54) + 0.03 * (table["hours"] - 40) + table["smoker"]
    table["return"] = np.where(score + random.normal(size=count) > 0.3, "yes", "no")
    return table


def write_pages(folder: Path) -> list[str]:
    """Write every kind of page that the library writes, and return their names."""
    ledger = Ledger.create(folder / "x.ledger", dataset="hospital 2029", epsilon=3.0, delta=1e-6)
    schema = Schema(
        {
            "age": Range(18, 90),
            "hours": Range(0, 80),
            "smoker": Boolean(),
            "ward": Categories(["surgery", "medicine", "other"]),
            "return": Categories(["no", "yes"]),
        }
    )
    model = PrivateLogisticRegression(
        epsilon=1.0, delta=1e-7, schema=schema, target="return", ledger=ledger
    ).fit(people(6000, 0))
    found = evaluate(
        model, people(4000, 1), epsilon=1.0, metrics=("accuracy", "auc", "calibration", "log_loss")
    )
    model.save(folder / "model.json")
    about = About(
        name="Risk of return within 30 days",
        dataset="Admissions 2029",
        curators=["St. Example Hospital"],
        date="2030-01-02",
        tuning="Columns and ranges were chosen by clinicians, without a look at rows.",
    )
    random = np.random.default_rng(2)
    many = [f"{'very_' * 30}long_name_{k}" for k in range(60)]
    wide = PrivateRidge(
        epsilon=60.0, delta=0.0, bounds=Bounds(features=(0, 1), label=(0, 1)), random_state=0
    ).fit(pd.DataFrame(random.random((200, 60)), columns=many), random.random(200))
    table = people(6000, 3)[["age", "hours", "smoker"]].astype(float)
    years = Bounds(features=[(18, 90), (0, 80), (0, 1)], label=(0, 60))
    sure = PrivateRidge(epsilon=4.0, bounds=years, inference="population").fit(
        table, 10 + table["age"] / 4 + 9 * table["smoker"] + random.normal(size=6000)
    )
    spent = Guarantee(
        epsilon=0.5, delta=1e-6, neighbours="replace-one", unit="person", theorem="quantiles",
        event=Approximate(2.0, 1e-6), kind="ex-post", reserved=(2.0, 1e-6),
    )  # fmt: skip
    pure = Guarantee(
        epsilon=8.0, delta=0.0, neighbours="add-remove", event=Pure(8.0),
        theorem="a theorem of someone else whose name is " + "long " * 30,
    )  # fmt: skip
    bought = rehearse(model, 2000, epsilons=(0.1, 1.0, 10.0), repeats=2)
    more = {"about": about, "ledger": ledger, "file": folder / "model.json"}
    pages = {
        "statement": statement(ledger),
        "card": card_html(model, **more),
        "card-ex-post": card_html(spent),
        "card-pure": card_html(pure, about=About(name="<b>" + "x" * 200)),
        "report": report_html(
            model, evaluation=found, rehearsal=bought, proofs="https://example.org/proofs", **more
        ),
        "report-wide": report_html(wide),
        "report-intervals": report_html(sure),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return list(pages)
