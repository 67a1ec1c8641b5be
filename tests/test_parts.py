"""Parts of other packages: registered by entry point, used by name, saved and loaded."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Bounds, Budget, PrivateLogisticRegression, PrivateRidge, PrivateSGDRegressor
from discreet.algorithms import ALGORITHMS, ExponentialSampling, FrankWolfe, OutputPerturbation
from discreet.algorithms.sampling.sensitivity import row_range
from discreet.cli.main import main
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.estimators import load
from discreet.losses import LOSSES, Clipped, Loss
from discreet.noise import Seeded
from discreet.parts import Table
from discreet.problem import Problem
from discreet.regularizers import REGULARIZERS
from discreet.sets import SETS
from discreet.testing import check_algorithm, check_loss, check_set
from discreet.testing.loss_laws import extreme_labels_matter

TABLES: tuple[Table[Any], ...] = (LOSSES, SETS, REGULARIZERS, ALGORITHMS)

MODULE = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.algorithms import OutputPerturbation
from discreet.losses import Huber
from discreet.regularizers import L1
from discreet.sets import L2Ball


@dataclass(frozen=True, kw_only=True)
class Robust(Huber):
    name: ClassVar[str] = "robust"


@dataclass(frozen=True, kw_only=True)
class Round(L1):
    name: ClassVar[str] = "round"


@dataclass(frozen=True, init=False, repr=False)
class Dish(L2Ball):
    name: ClassVar[str] = "dish"
    closed_form: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Plain(OutputPerturbation):
    name: ClassVar[str] = "plain"


robust, round_, dish = Robust(), Round(), Dish(radius=2.0)
number = 7
"""

POINTS = """
[discreet.losses]
robust = elsewhere:robust
[discreet.sets]
dish = elsewhere:dish
[discreet.regularizers]
round = elsewhere:round_
[discreet.algorithms]
plain = elsewhere:Plain
"""


def forget() -> None:
    """Let the tables look for entry points again."""
    importlib.invalidate_caches()
    for table in TABLES:
        table.__dict__.pop("_points", None)
        table._held = {part.name: part for part in table.own}
    sys.modules.pop("elsewhere", None)


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a small package on the path, with its entry points."""

    def put(points: str = POINTS, *, module: str = MODULE, package: str = "elsewhere") -> None:
        folder = tmp_path / package
        info = folder / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
        (folder / "elsewhere.py").write_text(module)
        monkeypatch.syspath_prepend(str(folder))
        forget()

    yield put
    monkeypatch.undo()
    forget()


X = np.linspace(-1, 1, 300).reshape(-1, 1)
REAL = Bounds(features=(-1, 1), label=(-1, 1))


def test_without_packages_a_table_holds_its_own() -> None:
    for table in TABLES:
        assert [part.name for part in table.own] == list(table)[: len(table.own)]


def test_parts_of_a_package_are_listed_and_imported_when_asked_for(install: Install) -> None:
    install()
    for table, name in zip(TABLES, ("robust", "dish", "round", "plain"), strict=True):
        assert name in list(table)
        assert len(table) == len(table.own) + 1
        assert table.own[0].name in table
        assert "elsewhere" not in sys.modules or table is not LOSSES
        assert table[name].name == name
    with pytest.raises(KeyError):
        LOSSES["nothing"]


def test_a_loss_of_a_package_is_used_by_name_saved_and_loaded(
    install: Install, tmp_path: Path
) -> None:
    install()
    model = PrivateSGDRegressor(
        loss="robust", bounds=REAL, constraint=SETS["dish"], random_state=0
    ).fit(X, X.ravel() / 2)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.loss == "robust"
    assert again.constraint == SETS["dish"]
    assert (again.predict(X) == model.predict(X)).all()
    held = PrivateSGDRegressor(loss=LOSSES["robust"], bounds=REAL, random_state=0)
    held.fit(X, X.ravel() / 2).save(tmp_path / "held.json")
    assert load(tmp_path / "held.json").loss == LOSSES["robust"]


def test_a_file_with_parts_of_a_package_that_is_gone_says_so(
    install: Install, tmp_path: Path
) -> None:
    install()
    model = PrivateSGDRegressor(loss=LOSSES["robust"], bounds=REAL, random_state=0)
    model.fit(X, X.ravel() / 2).save(tmp_path / "model.json")
    for path in [p for p in sys.path if p.endswith("elsewhere")]:
        sys.path.remove(path)
    forget()
    with pytest.raises(InvalidData, match=r"needs the part 'Robust', .* Install the package"):
        load(tmp_path / "model.json")
    # Nor is a part saved that could not be read back.
    with pytest.raises(InvalidParameter, match="Register it as an entry point"):
        model.save(tmp_path / "again.json")


def test_a_file_with_parts_of_a_package_that_is_broken_names_it(
    install: Install, tmp_path: Path
) -> None:
    install()
    model = PrivateSGDRegressor(loss=LOSSES["robust"], bounds=REAL, random_state=0)
    model.fit(X, X.ravel() / 2).save(tmp_path / "model.json")
    (tmp_path / "elsewhere" / "elsewhere.py").write_text("import nothing_of_that_name")
    forget()
    with pytest.raises(Incompatible, match=r"elsewhere: .*ModuleNotFoundError"):
        load(tmp_path / "model.json")


def test_an_algorithm_of_a_package_is_used_by_name(install: Install, tmp_path: Path) -> None:
    install()
    y = (X.ravel() > 0).astype(int)
    model = PrivateLogisticRegression(
        algorithm="plain",
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        regularizer=REGULARIZERS["round"],
        random_state=0,
    )
    usual = PrivateLogisticRegression(
        algorithm="output-perturbation",
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        regularizer=REGULARIZERS["round"],
        random_state=0,
    )
    assert (model.fit(X, y).coef_ == usual.fit(X, y).coef_).all()
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").algorithm == "plain"


def test_an_algorithm_of_a_package_is_used_on_the_command_line(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    monkeypatch.chdir(tmp_path)
    lines = ["x,y", *(f"{v:.3f},{v / 2:.3f}" for v in X.ravel())]
    Path("data.csv").write_text("\n".join(lines) + "\n")
    Path("schema.toml").write_text("[columns]\nx = { range = [-1, 1] }\ny = { range = [-1, 1] }\n")
    command = ["fit", "data.csv", "--schema", "schema.toml", "--target", "y"]
    assert main([*command, "--epsilon", "1", "--algorithm", "plain", "--out", "m.json"]) == 0
    assert json.loads(Path("m.json").read_text())["parameters"]["algorithm"] == "plain"


@pytest.mark.parametrize(
    ("points", "module", "words"),
    [
        ("robust = elsewhere:robust", "import nothing_of_that_name", "ModuleNotFoundError"),
        ("robust = elsewhere:absent", MODULE, "AttributeError"),
        ("robust = elsewhere:number", MODULE, "is not such a part"),
        ("robust = elsewhere:Robust", MODULE, "an instance for losses"),
        ("other = elsewhere:robust", MODULE, "calls itself otherwise"),
    ],
)
def test_a_broken_package_is_named(install: Install, points: str, module: str, words: str) -> None:
    install(f"[discreet.losses]\n{points}\n", module=module)
    name = points.split()[0]
    with pytest.raises(Incompatible, match=rf"elsewhere: '{name}' of 'discreet.losses'.*{words}"):
        LOSSES[name]
    # What needs no part of it works.
    assert LOSSES["squared"].name == "squared"
    assert name in list(LOSSES)
    PrivateSGDRegressor(loss="squared", bounds=REAL).fit(X, X.ravel()).to_dict()


def test_a_name_registered_twice_is_refused_and_own_names_win(install: Install) -> None:
    install()
    install(package="second")
    with pytest.raises(Incompatible, match=r"elsewhere, second: 'robust' .* more than once"):
        LOSSES["robust"]


def test_a_package_cannot_take_a_name_of_the_library(install: Install) -> None:
    install("[discreet.losses]\nsquared = elsewhere:robust\n")
    assert type(LOSSES["squared"]).__module__.startswith("discreet.")
    assert len(LOSSES) == len(LOSSES.own)


# The parts that docs/extending.md shows.

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
SHOWN = """
[discreet.losses]
log-cosh = elsewhere:log_cosh
[discreet.sets]
corner = elsewhere:corner
[discreet.algorithms]
one-step = elsewhere:OneStep
"""


def shown() -> str:
    """Return the code of the page that defines parts, and instances of them."""
    found = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return "\n".join([*found, "log_cosh, corner = LogCosh(), Corner()"])


def test_the_parts_of_the_page_obey_the_laws_unlisted_and_listed(install: Install) -> None:
    def ranged(loss: Loss) -> tuple[float, float]:
        bounds = Bounds(row_norm=1.0, label=(-1, 1))
        task = Problem(loss=loss, bounds=bounds, n_features=2, n_rows=9)
        return row_range(task, radius=2.0, diameter=4.0), loss.at_zero(1.0)

    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(shown(), str(PAGE), "exec"), names)
    check_loss(names["log_cosh"])
    check_loss(Clipped(loss=names["log_cosh"], clip=0.5))
    check_set(names["corner"])
    check_algorithm(names["OneStep"]())
    unlisted = ranged(names["log_cosh"])

    install(SHOWN, module=shown())
    check_loss(LOSSES["log-cosh"])
    check_set(SETS["corner"])
    check_algorithm(ALGORITHMS["one-step"]())
    assert ranged(LOSSES["log-cosh"]) == unlisted


def test_the_parts_of_the_page_work_with_algorithms_they_do_not_know(install: Install) -> None:
    install(SHOWN, module=shown())
    corner, bounds = SETS["corner"], Bounds(features=(-1, 1), label=(-1, 1))
    task = Problem(
        loss=LOSSES["log-cosh"], bounds=bounds, n_features=2, n_rows=300, constraint=corner
    )
    rows = ArraySource(np.tile(X, 2), X.ravel() / 2)
    for algorithm in (FrankWolfe(), ExponentialSampling(), OutputPerturbation()):
        weights = algorithm.plan(task, Budget(2.0)).run(rows, Seeded(0)).weights
        assert (weights >= 0).all()
        assert weights.sum() <= 1 + 1e-9
    model = PrivateRidge(algorithm="one-step", bounds=bounds, random_state=0)
    assert model.fit(X, X.ravel()).algorithm_ == "one-step"


def test_listing_a_loss_claims_nothing_about_it(install: Install) -> None:
    """Its range is largest at a label that is not extreme; understating it would be unsafe."""
    module = (
        shown()
        + """
class Peaked(LogCosh):
    name = "peaked"

    def value(self, z, y):
        return np.abs(z) * (1.02 - np.abs(y))

    def slope(self, z, y):
        return np.sign(z) * (1.02 - np.abs(y))

    def curvature(self, z, y):
        return 0.0 * z

    def at_zero(self, label):
        return 0.0

    def regularity(self, *, label, reach):
        return scalar_regularity(slopes=(1.02, 1.02), smoothness=np.inf)

    def slope_inverse(self, level, y):
        return 0.0 * y

peaked = Peaked()
"""
    )
    install("[discreet.losses]\npeaked = elsewhere:peaked\n", module=module)
    task = Problem(
        loss=LOSSES["peaked"], bounds=Bounds(row_norm=1.0, label=(-1, 1)), n_features=2, n_rows=9
    )
    true = float(np.ptp(task.loss.value(np.linspace(-2, 2, 101), np.zeros(101))))
    assert row_range(task, radius=2.0, diameter=4.0) >= true
    # What the extreme labels alone would have said, had the loss claimed that they suffice.
    lie = type("Lie", (type(task.loss),), {"range_at_extreme_labels": True, "proved_convex": True})
    lie.slope_inverse = type(task.loss).slope_inverse
    lying = Problem(loss=lie(), bounds=task.bounds, n_features=2, n_rows=9)
    assert row_range(lying, radius=2.0, diameter=4.0) * 50 < true
    with pytest.raises(AssertionError, match="range_at_extreme_labels"):
        extreme_labels_matter(lie())
