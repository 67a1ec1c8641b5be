"""Pages and pictures: readable for every eye, escaped, and the same each time."""

import re

import pytest

from discreet.style import anchor, bullets, document, facts, note, section, table, tiles, warning
from discreet.style.colours import DARK, LIGHT, QUIET, SERIES, contrast
from discreet.style.pictures import new_figure, save, style
from discreet.style.stylesheet import STYLESHEET

HOSTILE = "</style><script>alert(1)</script>'\"><img src=x onerror=alert(2)>&amp;\u202egnp\x1b[2J"


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_have_the_contrast_that_is_asked_for(colours):
    for ground in ("page", "panel"):
        for words in ("ink", "soft", "link", "met", "open", "first", "other"):
            assert contrast(colours[words], colours[ground]) >= 4.5, (words, ground)
    assert contrast(colours["first"], colours["rest"]) >= 3
    assert set(LIGHT) == set(DARK)


def test_series_of_pictures_stand_out_from_paper():
    # Two light colours of the palette come last; their lines differ in dash and mark too.
    assert all(contrast(c, "#ffffff") >= 3 for c in (*SERIES[:3], QUIET))


def test_every_colour_of_the_stylesheet_is_declared():
    assert set(re.findall(r"var\(--(\w+)\)", STYLESHEET)) <= set(LIGHT)
    assert "url(" not in STYLESHEET
    assert "@import" not in STYLESHEET


def test_hostile_text_stays_text_wherever_it_stands(read_page):
    page = document(
        HOSTILE,
        [section(HOSTILE, note(HOSTILE), bullets([HOSTILE]), facts([(HOSTILE, HOSTILE)])),
         tiles([(HOSTILE, HOSTILE, HOSTILE)]), warning([HOSTILE]),
         table((HOSTILE,), [(HOSTILE,)], caption=HOSTILE)],
        kind=HOSTILE, contents=[HOSTILE],
    )  # fmt: skip
    assert not re.search(r"<(script|img)", page)
    assert page.count("</style>") == 1
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert read_page(page).text.count("<script>alert(1)</script>") == 16
    assert re.fullmatch("[a-z0-9-]+", anchor(HOSTILE))


def test_a_page_may_load_nothing():
    page = document("t", [])
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    for landmark in ("<header>", "<main id='main'>", "lang='en'", "class='skip'"):
        assert landmark in page


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_the_same_picture_is_the_same_file(tmp_path, ending):
    for name in ("a", "b"):
        with style():
            figure = new_figure(2, 2)
            axes = figure.subplots()
            for k in range(len(SERIES)):
                axes.plot([0, 1], [k, k + 1])
            save(figure, tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == len(SERIES)
