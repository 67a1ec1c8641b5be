"""Nested skew boxes: faces below the score, exact chances, and the law they draw."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from discreet.algorithms.sampling.laws import (
    Region,
    TangentEnvelope,
    Target,
    box_search,
    faces,
    tangent_envelope,
)
from discreet.algorithms.sampling.laws.box_search import BoxSearch
from discreet.algorithms.sampling.laws.cells import Cells
from discreet.algorithms.sampling.laws.faces import Bounded, Face, lowest
from discreet.algorithms.sampling.laws.initial_points import initial_points
from discreet.algorithms.sampling.laws.knowledge import Knowledge
from discreet.algorithms.sampling.laws.nested import Frame, Nested
from discreet.algorithms.sampling.laws.tangents import Tangents
from discreet.data import Rows
from discreet.errors import NotCertified
from discreet.losses import Hinge, Logistic, Loss, Quantile
from discreet.noise import Seeded
from discreet.noise.randomness import integers_below
from discreet.sets import Box, ConvexSet, L1Ball, L2Ball

SETS = [Box(low=-2.0, high=2.0), L2Ball(radius=1.5), L1Ball(radius=2.0)]
LAWS = pytest.mark.parametrize("loss", [Logistic(), Hinge(), Quantile()], ids=lambda f: f.name)


def target(loss: Loss, constraint: ConvexSet, p: int, *, inverse: float = 1.0) -> Target:
    """A law of correlated weights whose minimum lies inside the sets above or at their walls."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, p)) + rng.normal(size=(60, 1))
    data = Rows(X, np.where(rng.random(60) < 0.7, 1.0, -1.0) * np.sign(X[:, 0]))

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = data.objective(loss, w)
        return inverse * value, inverse * gradient

    return Target(Region.of(constraint, (p,)), evaluate, 1e-6)


def searched(law: Target) -> BoxSearch:
    known = Knowledge(law)
    for found in initial_points(law):
        known.learn(*found)
    return BoxSearch(known)


def small() -> Nested:
    """Boxes of a few hundred points in skew coordinates."""
    frame = Frame(
        np.array([1.0, -2.0]),
        np.array([[3.0, 1.7], [0.0, 2.0]]),
        np.array([-8.0, -6.0]),
        np.array([7.0, 7.0]),
    )

    def face(height: float, rise: float) -> list[Face]:
        return [Face(height, rise, np.zeros(2)), Face(height - 1.0, 2.0 * rise, np.zeros(2))]

    return Nested(frame, 0.0, [(face(-0.2, 0.5), face(0.1, 0.7)), (face(0.0, 0.4), face(0.0, 1.0))])


def offsets(frame: Frame, place: np.ndarray) -> np.ndarray:
    """The whole offsets of places: what `Frame.places` is undone by."""
    pull = -np.linalg.inv(frame.turn / frame.spread)
    out = np.zeros(place.shape, np.int64)
    for j in range(place.shape[1]):
        gap = place[:, j + 1 :] - frame.middle[j + 1 :]
        out[:, j] = place[:, j] - np.rint(frame.middle[j] + gap @ pull[j, j + 1 :])
    return out


def shells(boxes: Nested, offset: np.ndarray) -> np.ndarray:
    """The smallest box around every offset, by looking at all of them."""
    inside = (offset[:, None] >= boxes._low) & (offset[:, None] <= boxes._high)
    return inside.all(axis=2).argmax(axis=1)


def test_boxes_state_the_chances_of_all_their_points() -> None:
    boxes = small()
    low, high = boxes._low[-1], boxes._high[-1]
    assert (np.diff(boxes._low, axis=0) <= 0).all()
    assert (np.diff(boxes._high, axis=0) >= 0).all()
    every = np.indices(high - low + 1).reshape(2, -1).T + low
    place = boxes._frame.places(every)
    assert len({tuple(w) for w in place}) == len(every)  # one-to-one
    assert (offsets(boxes._frame, place) == every).all()
    shell = shells(boxes, every)
    with mp.workprec(200):
        chances = [boxes.exact_chance(k) for k in range(len(boxes.top))]
        total = mp.fsum(mp.exp(chances[k]) for k in shell)
        whole = mp.log(int(boxes._ends[-1])) + boxes._peak - boxes._bits * mp.log(2)
        assert abs(mp.log(total) - whole) < 1e-20
        # The float64 chances, and the envelope below them.
        assert np.abs(boxes.chance - np.array(chances, dtype=float)).max() < 1e-12
    assert (boxes.chance >= boxes.top - 1e-12).all()
    wanted = np.exp(boxes.chance[shell] - float(whole))
    drawn = boxes.propose(40_000, Seeded(1))
    keys = {tuple(w): i for i, w in enumerate(place)}
    index = np.array([keys[tuple(w)] for w in drawn.place])
    assert (drawn.shell == shell[index]).all()
    seen = np.bincount(index, minlength=len(every))
    common = wanted * 40_000 >= 5
    rest = 40_000 * (1 - wanted[common].sum())
    seen, wanted = np.append(seen[common], seen[~common].sum()), np.append(wanted[common], 0.0)
    wanted *= 40_000
    wanted[-1] = rest
    assert stats.chisquare(seen, wanted).pvalue > 1e-4
    assert stats.chisquare(seen, np.sqrt(wanted) * 40_000 / np.sqrt(wanted).sum()).pvalue < 1e-6


def test_whole_numbers_below_bounds_of_their_own_are_uniform() -> None:
    highs = np.tile([1, 3, 6, 7], 7000)
    drawn = integers_below(highs, Seeded(0)).reshape(-1, 4)
    for column, high in zip(drawn.T, (1, 3, 6, 7), strict=True):
        counts = np.bincount(column, minlength=high)
        assert counts.size == high
        assert high == 1 or stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_faces_lie_below_the_score_wherever_the_region_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = 3
    slope, base = rng.normal(size=(25, p)), rng.normal(size=25)
    normal = rng.normal(size=(12, p))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    offset = np.full(12, 2.0)
    box = np.concatenate([np.eye(p), -np.eye(p)])
    known = Bounded(
        slope,
        base,
        np.concatenate([normal, box]),
        np.concatenate([offset, np.full(2 * p, 3.0)]),
        np.full(p, 3.0),
        np.full(25, 1e-9),
        np.full(12 + 2 * p, 1e-9),
    )
    points = rng.uniform(-3.0, 3.0, size=(40_000, p))
    points = points[(points @ normal.T <= offset).all(axis=1)]
    score = (points @ slope.T + base).max(axis=1)
    everywhere = lowest(known)
    assert everywhere is not None
    assert everywhere.rise == 0.0
    gaps = [float((score - everywhere.height).min())]
    for axis in range(p):
        for side in (1.0, -1.0):
            face = lowest(known, axis, side, 1.0)
            assert face is not None
            gap = score - face.height - face.rise * side * points[:, axis]
            gaps.append(float(gap.min()))
            # Walls leave nothing so far out; the bound then goes up where they end.
            beyond = lowest(known, axis, side, 4.0)
            assert beyond is not None
            assert beyond.rise == pytest.approx(faces.STEEP)
            gaps.append(float((score - beyond.height - beyond.rise * side * points[:, axis]).min()))
    assert min(gaps) >= 0.0
    assert min(gaps) < 0.2  # not bought by bounds that say nothing: planted ones would be seen


def test_a_crooked_answer_of_the_solver_only_lowers_a_face(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of planes that are far off leave slopes in other coordinates; those are paid for."""
    rng = np.random.default_rng(0)
    slope, base = rng.normal(size=(8, 2)), np.zeros(8)
    walls = np.concatenate([np.eye(2), -np.eye(2)])
    known = Bounded(slope, base, walls, np.full(4, 1.0), np.ones(2), np.zeros(8), np.zeros(4))
    honest = lowest(known, 0, 1.0, 0.5)
    assert honest is not None
    real = faces.linprog

    def crooked(*args: object, **kwargs: object) -> object:
        found = real(*args, **kwargs)
        found.ineqlin.marginals = found.ineqlin.marginals - rng.random(8 + 4 + 1)
        return found

    monkeypatch.setattr(faces, "linprog", crooked)
    points = rng.uniform(-1.0, 1.0, size=(5000, 2))
    score = (points @ slope.T + base).max(axis=1)
    for _ in range(20):
        face = lowest(known, 0, 1.0, 0.5)
        assert face is not None
        assert (face.height + face.rise * points[:, 0] <= score + 1e-12).all()
        assert face.height + 0.5 * face.rise < honest.height + 0.5 * honest.rise


@LAWS
@pytest.mark.parametrize("constraint", SETS, ids=lambda c: c.name)
def test_boxes_lie_above_the_density(loss: Loss, constraint: ConvexSet) -> None:
    law = target(loss, constraint, 3)
    boxes = searched(law)._boxes
    assert boxes is not None
    rng = np.random.default_rng(1)
    index = (rng.random((1500, 3)) * law.region.counts).astype(np.int64)
    points = np.array([w for w in law.region.points(index) if law.region.contains(w)])
    drawn = boxes.propose(800, Seeded(2)).place
    near = Knowledge(law).point_at(drawn)
    points = np.concatenate([points, [w for w in near if law.region.contains(w)]])
    shell = shells(boxes, offsets(boxes._frame, Knowledge(law).place_of(points)))
    score = np.array([law.evaluate(w)[0] for w in points])
    assert (-score <= boxes.top[shell] + law.slack).all()
    assert (-score > boxes.top[shell] - 3.0).any()  # and not far above
    # Every lattice point of the region is in the last box.
    corners = np.indices((2, 2, 2)).reshape(3, -1).T * (law.region.counts - 1)
    place = offsets(boxes._frame, (corners - law.region.counts // 2).astype(float))
    assert ((place >= boxes._low[-1]) & (place <= boxes._high[-1])).all()


@pytest.fixture
def only_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw comes from the boxes."""
    monkeypatch.setattr(tangent_envelope, "FEW_CELLS", 0)
    monkeypatch.setattr(Cells, "total", math.inf)


def classes(law: Target, side: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Edges of a grid in the plane, and the probabilities of its cells by midpoint sums."""
    low, high = law.region.points(0 * law.region.counts), law.region.points(law.region.counts - 1)
    fine = 4 * side
    axes = [a + (np.arange(fine) + 0.5) * (b - a) / fine for a, b in zip(low, high, strict=True)]
    chances = np.zeros((fine, fine))
    for i, x in enumerate(axes[0]):
        for j, y in enumerate(axes[1]):
            w = np.array([x, y])
            if law.region.contains(w):
                chances[i, j] = math.exp(-law.evaluate(w)[0])
    chances = chances.reshape(side, 4, side, 4).sum(axis=(1, 3))
    edges = np.array([np.linspace(a, b, side + 1) for a, b in zip(low, high, strict=True)])
    return edges, chances / chances.sum()


@pytest.mark.usefixtures("only_boxes")
@pytest.mark.parametrize("constraint", SETS[:2], ids=lambda c: c.name)
def test_boxes_draw_the_law_in_the_plane(constraint: ConvexSet) -> None:
    """Smooth, so that sums over midpoints are exact enough; the walls cut the law."""
    law = target(Logistic(), constraint, 2, inverse=0.2)
    edges, chances = classes(law)
    sampler, random = TangentEnvelope(law), Seeded(3)
    drawn = np.array([sampler.draw(random) for _ in range(1200)])
    seen, *_ = np.histogram2d(*drawn.T, bins=list(edges))

    def pvalue(wanted: np.ndarray) -> float:
        common = wanted * len(drawn) >= 5
        counts = np.append(seen[common], seen[~common].sum())
        expected = np.append(wanted[common], wanted[~common].sum()) * len(drawn)
        return float(stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue)

    assert pvalue(chances) > 1e-4
    wrong = np.sqrt(chances)
    assert pvalue(wrong / wrong.sum()) < 1e-6  # planted: half the constant


@pytest.mark.usefixtures("only_boxes")
@LAWS
def test_boxes_and_cells_draw_the_same_law(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    law = target(loss, L2Ball(radius=1.5), 3)
    one, random = TangentEnvelope(law), Seeded(5)
    boxes = np.array([one.draw(random) for _ in range(600)])
    monkeypatch.setattr(tangent_envelope, "FEW_CELLS", 10**9)
    two = TangentEnvelope(law)
    cells = np.array([two.draw(random) for _ in range(600)])
    assert one._boxes is not None
    assert two._boxes is None
    for direction in (*np.eye(3), np.ones(3), np.array([1.0, -1.0, 0.0])):
        this, that = boxes @ direction, cells @ direction
        assert stats.ks_2samp(this, that).pvalue > 1e-4
        assert stats.ks_2samp(this + 0.5 * this.std(), that).pvalue < 1e-6  # it would be seen


@pytest.mark.usefixtures("only_boxes")
def test_a_face_above_the_score_raises_and_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def raised(*args: object) -> Face | None:
        face = lowest(*args)  # type: ignore[arg-type]
        return face and replace(face, height=face.height + 2.0)

    monkeypatch.setattr(box_search, "lowest", raised)
    sampler, random = TangentEnvelope(target(Hinge(), Box(), 3)), Seeded(0)
    with pytest.raises(NotCertified, match="Nothing was released"):
        [sampler.draw(random) for _ in range(300)]


def test_the_ladder_ends_only_where_the_rest_of_the_region_is_light() -> None:
    """A sharp law in a wide set: the last box is huge, so its level has to be high."""
    boxes = searched(target(Hinge(), Box(low=-1e4, high=1e4), 3, inverse=20.0))._boxes
    assert boxes is not None
    assert boxes._weights[-1] < 1e-6 * boxes._ends[-1]


def exact_offsets(frame: Frame, place: np.ndarray) -> list[Fraction]:
    """The real numbers ``spread * x`` with ``place = middle + turn @ x``, by substitution."""
    p, out = len(place), [Fraction(0)] * len(place)
    turn = [[Fraction(float(v)) for v in row] for row in frame.turn]
    for j in range(p - 1, -1, -1):
        rest = Fraction(float(place[j])) - Fraction(float(frame.middle[j]))
        rest -= sum(turn[j][i] / turn[i][i] * out[i] for i in range(j + 1, p))
        out[j] = rest
    return out


@pytest.mark.parametrize("lean", [0.0, 0.9, 0.999])
def test_skew_coordinates_and_planes_round_within_their_bounds(lean: float) -> None:
    """In exact arithmetic, for places all over the region."""
    rng, p, reach = np.random.default_rng(3), 4, 2.0**38
    law = lean * np.ones((p, p)) + (1.0 - lean) * np.eye(p)
    cloud = rng.multivariate_normal(np.zeros(p), law, size=400) * 2.0 ** rng.integers(24, 33, p)
    frame = Frame.of(cloud, np.full(p, -reach), np.full(p, reach))
    assert frame is not None
    planes, walls = Tangents(p), Tangents(p)
    for _ in range(6):
        planes.add(rng.normal(size=p) * 2.0**-30, rng.normal() * 50.0)
        walls.add(rng.normal(size=p) * 2.0**-40, -1.0)
    known = frame.known(planes, walls)
    place = np.rint(rng.uniform(-reach, reach, size=(60, p)))
    for w, t in zip(place, offsets(frame, place), strict=True):
        real = exact_offsets(frame, w)
        assert all(abs(a - int(b)) <= Fraction(3, 2) for a, b in zip(real, t, strict=True))
        x = [a / Fraction(float(s)) for a, s in zip(real, frame.spread, strict=True)]
        assert all(abs(a) <= Fraction(float(r)) for a, r in zip(x, known.reach, strict=True))
        at = [Fraction(float(v)) for v in w]
        for k in range(6):
            for held, slope, base, doubt, sign in (
                (planes, known.slope[k], known.base[k], known.doubt[k], 1),
                (walls, known.normal[k], -known.offset[k], known.wall_doubt[k], 0),
            ):
                terms = zip(held.slope[k], at, strict=True)
                true = Fraction(float(held.base[k])) + sum(Fraction(float(a)) * v for a, v in terms)
                terms = zip(slope, x, strict=True)
                seen = Fraction(float(base)) + sum(Fraction(float(a)) * v for a, v in terms)
                # Walls are scaled to one length.
                size = 1.0 if sign else float(np.abs(held.slope[k] @ frame.turn).max())
                assert abs(true / Fraction(size) - seen) <= Fraction(float(doubt))


def test_coordinates_too_narrow_for_the_lattice_are_left_to_the_cells() -> None:
    cloud = np.random.default_rng(0).normal(size=(50, 2)) * [2.0**30, 2.0]
    assert Frame.of(cloud, np.full(2, -(2.0**35)), np.full(2, 2.0**35)) is None
    assert Frame.of(np.zeros((50, 2)), np.full(2, -1.0), np.ones(2)) is None


def test_a_search_in_vain_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    fitting = Frame.of

    def of(*given: np.ndarray) -> Frame | None:
        nonlocal asked
        asked += 1
        return None if asked == 1 else fitting(*given)

    monkeypatch.setattr(Frame, "of", of)
    monkeypatch.setattr(tangent_envelope, "FEW_CELLS", 1)
    sampler, random = TangentEnvelope(target(Hinge(), L2Ball(radius=1.5), 3)), Seeded(0)
    for _ in range(50):
        sampler.draw(random)
    assert sampler._mass < math.inf


@pytest.mark.parametrize("constraint", [L2Ball(radius=2.0), L1Ball(radius=2.0), Box()])
def test_walls_seen_from_close_by_hold_inside(constraint: ConvexSet) -> None:
    rng = np.random.default_rng(0)
    region = Region.of(constraint, (3,))
    far = rng.normal(size=(500, 3))
    far *= 9.0 / np.linalg.norm(far, axis=1)[:, None]
    inside = np.array([constraint.project(w) for w in far])
    for w in inside[:50]:
        outward = w / np.linalg.norm(w)
        for edges in (2.0, 50.0, 5000.0):
            point = w + edges * region.edge * outward
            anchor, normal = region.wall(point)
            assert ((inside - anchor) @ normal).max() <= 2.0 * region.edge
            if isinstance(constraint, L2Ball):
                # Found, and about where the point is.
                assert np.linalg.norm(normal) == pytest.approx(1.0)
                assert abs((w - anchor) @ normal) <= 2.0 * region.edge


def test_twelve_weights_in_a_ball_are_practical() -> None:
    """A hinge with many corners in a wide ball, as a default fit has it: cells would not end."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 12))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(-8 * X[:, 0])), 1.0, -1.0)
    data, calls = Rows(X, y), 0

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        value, gradient = data.objective(Hinge(), w)
        return value / 12.0, gradient / 12.0

    law = Target(Region.of(L2Ball(radius=42.0), (12,)), evaluate, 1e-6)
    w = TangentEnvelope(law).draw(Seeded(0))
    assert 1.0 < np.linalg.norm(w) < 20.0
    assert calls < 3000
