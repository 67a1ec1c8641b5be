"""``range = "private"`` and ``categories = "private"`` on the command line."""

import numpy as np
import pandas as pd

from discreet import PrivateLogisticRegression, Schema, load

SCHEMA = """\
[columns]
age = { range = "private" }
hours = { range = [0, "private"] }
job = { categories = "private" }
rich = { categories = ["no", "yes"] }
"""

FIT = "fit data.csv --target rich --epsilon 4 --schema schema.toml --out model.json"


def people(folder, n=3000):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.uniform(20, 80, n), "hours": random.uniform(0, 60, n)})
    frame["job"] = random.choice(["office", "field"], n)
    frame["rich"] = np.where(frame.hours + 20 * (frame.job == "office") > 40, "yes", "no")
    frame.loc[0, "job"] = "lighthouse"
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "schema.toml").write_text(SCHEMA)
    return frame


def test_four_commands_learn_what_nobody_knows(folder, run):
    frame = people(folder)
    code, out, _ = run("plan --schema schema.toml --target rich --rows 3000 --epsilon 4")
    assert code == 0
    assert "learned first" in out
    code, out, err = run(FIT + " --seed 5 --card card.txt")
    assert code == 0, err
    assert "epsilon = 4, delta = 1e-06 per row" in out
    model = load(folder / "model.json")
    assert list(model.schema_.columns["job"].choices) == ["field", "office", "other"]
    assert "lighthouse" not in (folder / "model.json").read_text()
    assert "field, office, other" in (folder / "card.txt").read_text()
    code, _, _ = run("predict model.json data.csv --out new.csv")
    assert code == 0
    found = pd.read_csv(folder / "new.csv").rich
    assert (found == model.predict(frame)).all()
    assert (found == frame.rich).mean() > 0.9
    schema = Schema.from_toml(folder / "schema.toml")
    python = PrivateLogisticRegression(epsilon=4, schema=schema, target="rich", random_state=5)
    assert (python.fit(frame).coef_ == model.coef_).all()


def test_the_share_is_a_setting_and_tuning_wants_declared_columns(folder, run):
    people(folder)
    code, _, _ = run(FIT + " --seed 1 --set bounds_share=.3")
    assert code == 0
    first = load(folder / "model.json").guarantee_.event.events[0]
    assert abs(first.epsilon - 4 * 0.3 / 4) < 1e-9
    tune = "tune data.csv --target rich --epsilon 4 --schema schema.toml --out best.json"
    code, _, err = run(tune + " --grid alpha=1,2")
    assert code != 0
    assert "privately" in err
