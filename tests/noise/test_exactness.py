"""Every rounding is that of the ideal draw: float64 bounds, open roundings, tails.

The oracle inverts the tail probability with mpmath's Newton iteration, where the
library compares probabilities and never inverts.
"""

from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest
from mpmath import mp
from scipy import special

from discreet.noise import GammaSphere, Gaussian, Grid, Laplace, Seeded
from discreet.noise import rounded_draws as inv
from discreet.noise.gamma_sphere import _Chi

U = 2.0**-53
ONE = 1 << 63


class Script:
    """Words written down in advance; then, if given, a stream whose words are kept."""

    secure = False

    def __init__(self, words=(), then=None):
        self.left, self.then, self.given = list(words), then, []

    def words(self, n):
        taken, self.left = self.left[:n], self.left[n:]
        if len(taken) < n:
            assert self.then is not None, "more words were asked for than written down"
            taken += [int(w) for w in self.then.words(n - len(taken))]
        self.given += taken
        return np.array(taken, dtype=np.uint64)


def word(bits, negative=False):
    """Return the word with a sign and the first 63 bits of V."""
    return ONE | bits if negative else ONE - 1 - bits


def joined(words):
    """Return 64-bit words as one number."""
    return mpmath.mpf(int("".join(f"{w:064b}" for w in words), 2))


def normal_magnitude(v, start=None):
    """Return x with P(|N| > x) = v, at the working precision of mpmath."""
    x = mpmath.mpf(float(-special.ndtri_exp(float(mpmath.log(v / 2)))) if start is None else start)
    for _ in range(8):
        step = (mpmath.erfc(x / mpmath.sqrt(2)) - v) / (2 * mpmath.npdf(x))
        x += step
        if abs(step) < abs(x) * mpmath.mpf(2) ** (-mp.prec // 2 - 8):
            break
    return x


def laplace_magnitude(v):
    return -mpmath.log(v)


LAWS = {
    "gaussian": (Gaussian, normal_magnitude, lambda x: mpmath.erfc(x / mpmath.sqrt(2))),
    "laplace": (Laplace, laplace_magnitude, lambda x: mpmath.exp(-x)),
}


def sweep():
    """Words across the whole range: centre, seam, tail, and both signs."""
    rng = np.random.default_rng(0)
    v = np.concatenate([2.0 ** -rng.uniform(0, 34, 2500), rng.uniform(0.1499, 0.1501, 300)])
    v = np.concatenate([v, rng.uniform(0, 1, 1500), 1 - 2.0 ** -rng.uniform(1, 50, 300)])
    return [word(min(int(x * ONE), ONE - 1), i % 2 == 1) for i, x in enumerate(v)]


def test_float_normal_keeps_its_error_bound():
    words = np.array(sweep(), dtype=np.uint64)
    z, error = inv.normal(words)
    bits = inv.tail_bits(words)
    worst = 0.0
    with mp.workprec(120):
        for w, b, zi, ei in zip(words, bits, z, error, strict=True):
            assert (zi < 0) == (int(w) >= ONE)
            middle = (mpmath.mpf(int(b)) + mpmath.mpf(0.5)) / ONE
            gap = abs(abs(mpmath.mpf(float(zi))) - normal_magnitude(middle, abs(float(zi))))
            assert gap <= ei
            # Apart from the unknown bits the error is far inside the claim.
            worst = max(worst, float(gap / (abs(zi) * U + 1.26 / (int(b) + 1))))
    assert worst < 16


def test_rational_functions_fit_the_quantile_to_2u():
    def value(x, upper, lower):
        return reduce(lambda s, c: s * x + c, upper) / reduce(lambda s, c: s * x + c, lower)

    with mp.workprec(120):
        worst = 0.0
        for q in np.linspace(1e-6, 0.425, 700):
            q = mpmath.mpf(float(q))
            fitted = q * value(mpmath.mpf(inv._CENTRE) - q * q, inv._A, inv._B)
            worst = max(worst, abs(fitted / normal_magnitude(1 - 2 * q, fitted) - 1))
        for r in np.linspace(1.6, 5.0, 1200)[3:]:
            r = mpmath.mpf(float(r))
            fitted = value(r - mpmath.mpf(1.6), inv._C, inv._D)
            worst = max(worst, abs(fitted / normal_magnitude(2 * mpmath.exp(-r * r), fitted) - 1))
        assert worst < 2 * U
    assert all(c > 0 for c in inv._A + inv._B + inv._C + inv._D)  # what the proof rests on


@pytest.mark.parametrize("name", ["log", "cos"])
def test_numpy_functions_err_by_at_most_4_ulp(name):
    rng = np.random.default_rng(1)
    if name == "log":
        x = np.concatenate([2.0 ** -rng.uniform(0, 64, 8000), 1 - 2.0 ** -rng.uniform(1, 52, 2000)])
    else:
        x = rng.uniform(0, np.pi, 10_000)
    got, exact = getattr(np, name)(x), getattr(mpmath, name)
    with mp.workprec(160):
        for a, b in zip(x, got, strict=True):
            assert abs(exact(mpmath.mpf(float(a))) - float(b)) <= 4 * np.spacing(abs(b))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize(
    ("k", "ratio"), [(0, 1.0), (3, 1.5), (7_654_321, 2.0**23), (2**31, 2.0**30)]
)
def test_a_draw_next_to_a_boundary_is_continued(name, negative, k, ratio):
    noise, _, tail = LAWS[name]
    with mp.workprec(400):
        edge = int(mpmath.floor(tail((k + mpmath.mpf(0.5)) / ratio) * mpmath.mpf(2) ** 191))
    first, second, third = edge >> 128, edge >> 64 & 2**64 - 1, edge & 2**64 - 1
    for shift, size in ((1, k), (-1, k + 1)):  # a larger V is a smaller magnitude
        script = Script([word(first, negative), second, third + shift])
        drawn = noise(ratio / 4, Grid(1 / 4, 1.0)).sample((1,), script) * 4
        assert drawn[0] == (-size if negative else size)
        assert script.left == []  # the same draw was continued, with both further words


@pytest.mark.parametrize("name", LAWS)
def test_draws_agree_with_multi_precision_where_many_are_open(name):
    make, magnitude, _ = LAWS[name]
    ratio = 2.0**43 * 1.37
    noise, stream = make(ratio, Grid(1.0, 1.0)), Seeded(5)
    for _ in range(150):
        script = Script(then=stream)
        drawn = noise.sample((1,), script)[0]
        head, *more = script.given
        bits = ONE - 1 - head if head < ONE else head - ONE
        length = 63 + 64 * len(more)
        for w in more:
            bits = bits << 64 | w
        with mp.workprec(400):
            ends = [magnitude(mpmath.mpf(bits + side) / mpmath.mpf(2) ** length) for side in (0, 1)]
            sizes = {int(mpmath.nint(ratio * x)) for x in ends}
        sign = 1 if head < ONE else -1
        assert sizes == {sign * drawn}  # the bits drawn decide the rounding, and this one


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("ratio", [2.0**10, 0.25, 0.125])
def test_tails_reach_beyond_the_first_word(name, ratio):
    make, magnitude, _ = LAWS[name]
    for more in ([12345], [0, 12345], [0, 0, 0, 2**63]):
        script = Script([word(0), *more], then=Seeded(0))
        drawn = make(ratio, Grid(1.0, 1.0)).sample((1,), script)[0]
        with mp.workprec(500):
            v = joined(more) / mpmath.mpf(2) ** (63 + 64 * len(more))
            assert abs(drawn - ratio * magnitude(v)) <= 0.5 + ratio / 12345
            assert magnitude(v) > magnitude(mpmath.mpf(2) ** -64) + 0.1


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("bits", "ratio"), [(3, 2.0**10), (2**30, 2.0**36), (2**36, 2.0**39)])
def test_bits_not_yet_drawn_count_as_error(name, bits, ratio):
    make, magnitude, _ = LAWS[name]
    drawn = []
    for more in (1, 2**64 - 2):
        script = Script([word(bits), more], then=Seeded(0))
        drawn.append(make(ratio, Grid(1.0, 1.0)).sample((1,), script)[0])
        with mp.workprec(300):
            v = joined([bits, more]) / mpmath.mpf(2) ** 127
            assert abs(drawn[-1] - ratio * magnitude(v)) <= 0.500001
    assert drawn[0] > drawn[1]


def test_settle_does_not_depend_on_the_guess():
    noise = Gaussian(1000.0, Grid(1.0, 1.0))
    for bits in (3, 2**20, 2**60 + 12345, 2**62 + 99, ONE - 1):
        found = {inv.draw_exactly(bits, noise._tail, g, Seeded(1)) for g in (0, 1, 37, 1000, 10**6)}
        assert len(found) == 1


@pytest.mark.parametrize("degrees", [2, 3, 4, 7, 60, 61])
def test_chi_is_enclosed_at_every_precision(degrees):
    chi = _Chi(degrees, Seeded(degrees))
    rough, fine, late = chi.enclosure(95), chi.enclosure(300), chi.enclosure(96)
    pairs, single = divmod(degrees, 2)
    with mp.workprec(500):
        # Every way to go on with the bits must stay inside.
        for radial, turn in ((0, 0), (0, 1), (1, 0), (1, 1)):
            unit = mpmath.mpf(2) ** -chi._length
            half = -sum(mpmath.log((b + radial) * unit) for b in chi._bits[:pairs])
            if single:
                b, angle = chi._bits[-2:]
                cosine = mpmath.cos(mpmath.pi * (angle + turn) * unit)
                half -= mpmath.log((b + radial) * unit) * cosine**2
            ideal = mpmath.sqrt(2 * half)
            for (low, high), width in ((rough, 2.0**-80), (fine, 2.0**-280), (late, 2.0**-80)):
                low, high = mp.make_mpf(low), mp.make_mpf(high)
                assert low <= ideal <= high
                assert high - low < width
            assert abs(chi.value / ideal - 1) <= min(chi.error, 16 * U)
    assert chi.error < 2.0**-43


def test_bits_of_the_radius_not_yet_drawn_count_as_error():
    drawn = []
    for more in (1, 2**64 - 2):
        script = Script([5, word(2**62), more], then=Seeded(0))
        drawn.append(GammaSphere(2.0**10, Grid(1.0, 1.0)).sample((1,), script)[0])
        with mp.workprec(200):
            chi = mpmath.sqrt(-2 * mpmath.log(joined([5, more]) / mpmath.mpf(2) ** 128))
            expected = 2**10 * chi * normal_magnitude(mpmath.mpf(0.5))
        assert abs(drawn[-1] - expected) <= 0.500001
    assert drawn[0] > drawn[1]


@pytest.mark.parametrize("negative", [False, True])
def test_sphere_coordinate_next_to_a_boundary_is_continued(negative):
    ratio, k = 2.0**20, 1_234_567
    radial = [int(w) for w in Seeded(9).words(4)]  # for p = 1: chi^2 = -2 log U
    with mp.workprec(500):
        u = joined(radial) / mpmath.mpf(2) ** 256
        x = (k + mpmath.mpf(0.5)) / (ratio * mpmath.sqrt(-2 * mpmath.log(u)))
        edge = int(mpmath.floor(mpmath.erfc(x / mpmath.sqrt(2)) * mpmath.mpf(2) ** 191))
    first, second, third = edge >> 128, edge >> 64 & 2**64 - 1, edge & 2**64 - 1
    for shift, size in ((1, k), (-1, k + 1)):
        # Radius and coordinate are continued in turn.
        script = Script(
            [
                radial[0],
                word(first, negative),
                radial[1],
                second,
                radial[2],
                third + shift,
                radial[3],
            ]
        )
        drawn = GammaSphere(ratio, Grid(1.0, 1.0)).sample((1,), script)
        assert drawn[0] == (-size if negative else size)
        assert script.left == []


def test_sphere_tail_and_degenerate_words_are_settled():
    # U = 0 in the first word: the radius is far out and only further bits tell where.
    script = Script([0, word(2**62), 77], then=Seeded(0))
    drawn = GammaSphere(2.0**10, Grid(1.0, 1.0)).sample((1,), script)[0]
    with mp.workprec(200):
        chi = mpmath.sqrt(-2 * mpmath.log(mpmath.mpf(77) / mpmath.mpf(2) ** 128))
        expected = 2**10 * chi * normal_magnitude(mpmath.mpf(0.5))
    # The middle of the known interval is within 1 / 77 of the ideal logarithm.
    assert abs(drawn - expected) <= 0.5 + float(expected) / 77
    # U next to one: the radius is next to zero.
    noise, nearly_one = GammaSphere(1.0, Grid(1.0, 1.0)), 2**64 - 1
    assert noise.sample((1,), Script([nearly_one, word(2**62)], then=Seeded(0))) == 0
    assert noise.sample((1,), Script([nearly_one, 0], then=Seeded(0))) == 0


def test_a_rounding_that_is_no_number_stays_open():
    assert inv.nearest(np.array([np.nan, 0.1]), np.zeros(2))[1].tolist() == [0]


@pytest.mark.parametrize("scale", [2.0**-10, 1.0, 2.0**20])
def test_the_error_of_a_draw_covers_those_of_its_factors(scale, monkeypatch):
    """Errors of the normal draws and of the radius, each at its end, in fractions."""
    seen = {}

    class Radius(_Chi):
        def __init__(self, *given):
            super().__init__(*given)
            # One that stands out, with the room that there is for the rounding of products.
            seen["chi"], seen["radius"] = 2.0**-40, self.value
            self.error = seen["chi"] + inv.REL / 4

    def drawn(words):
        y, error = inv.normal(words)
        error[:] = 2.0**-45
        seen["normal"] = y.copy(), error.copy()
        return y, error

    def rounded(y, error):
        seen["found"] = y.copy(), error.copy()
        return inv.nearest(y, error)

    for name, instead in (("_Chi", Radius), ("normal", drawn), ("nearest", rounded)):
        monkeypatch.setattr(f"discreet.noise.gamma_sphere.{name}", instead)
    GammaSphere(scale, Grid(1.0, 1.0)).sample((50,), Seeded(0))
    assert seen["radius"] > 5.0
    radius, off = Fraction(seen["radius"]), Fraction(seen["chi"])
    for z, slip, y, error in zip(*seen["normal"], *seen["found"], strict=True):
        ends = [
            Fraction(scale) * (Fraction(z) + a * Fraction(slip)) * radius * (1 + b * off)
            for a in (-1, 1)
            for b in (-1, 1)
        ]
        assert max(abs(end - Fraction(y)) for end in ends) <= Fraction(error)
