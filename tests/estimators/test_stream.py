"""Stream estimators: what they publish, what it costs, and what a resume may do."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import math
import os
import pickle
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Guarantee
from discreet.algorithms.stream.learner import StreamLearner
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.estimators.journal import DAMAGED, LEFTOVER, MISSING, NO_FOLDER, Journal
from discreet.estimators.shared.base import UndeclaredBounds
from discreet.estimators.shared.persistence import load
from discreet.estimators.stream import PrivateStreamClassifier, PrivateStreamRegressor
from discreet.files.checksums import with_checksum
from discreet.noise import Seeded
from discreet.sets import L2Ball

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] > 0, "up", "down")
BOUNDS = Bounds(row_norm=2.0, classes=("down", "up"))
CHUNKS = [slice(a, a + 20) for a in range(0, 120, 20)]


def model(**changes: Any) -> PrivateStreamClassifier:
    settings: dict[str, Any] = {"bounds": BOUNDS, "batch_size": 4, "n_rows": 60, "random_state": 1}
    return PrivateStreamClassifier(**(settings | changes))


def feed(stream: PrivateStreamClassifier, chunks: list[slice]) -> PrivateStreamClassifier:
    for chunk in chunks:
        stream.partial_fit(X[chunk], Y[chunk])
    return stream


def edit_state(path: Path, edit: Callable[[dict[str, Any]], object], *, signed: bool) -> str:
    """Change a state file, with a checksum that fits or the old one; return the new text."""
    held = json.loads(path.read_text())
    edit(held)
    # A number that is not finite has no checksum.
    with contextlib.suppress(ValueError, KeyError, TypeError):
        if signed:
            held["content"]["model"] = with_checksum(held["content"]["model"])
    with contextlib.suppress(ValueError):
        if signed:
            held = with_checksum(held)
    path.write_text(json.dumps(held))
    return path.read_text()


# What is published.


def test_every_call_publishes_weights_and_one_guarantee_covers_them_all() -> None:
    stream, seen = model(random_state=None), []
    for chunk in CHUNKS:
        stream.partial_fit(X[chunk], Y[chunk])
        seen.append(stream.coef_.copy())
        guarantee = stream.guarantee_
        assert (guarantee.epsilon, guarantee.delta, guarantee.secure) == (1.0, 1e-6, True)
        assert guarantee.event.delta(1.0) <= 1e-6 * (1 + 1e-9)
        assert stream.rows_seen_ == chunk.stop
    assert all((a != b).any() for a, b in itertools.pairwise(seen))
    assert any("once a pass" in a for a in stream.guarantee_.assumptions)


def test_weights_are_those_of_the_learner_in_the_users_units() -> None:
    stream = feed(model(), CHUNKS)
    learner = stream._own_learner()
    coef, intercept = learner.plan.problem.bounding.coefficients(learner.weights)
    assert np.array_equal(stream.coef_, coef[None])
    assert np.array_equal(stream.intercept_, [intercept])
    mean = feed(model(average=True), CHUNKS)
    coef, _ = learner.plan.problem.bounding.coefficients(learner.average)
    assert np.allclose(mean.coef_, coef[None])


def test_calls_of_any_size_and_one_call_are_the_same_stream() -> None:
    # 20 rows are five steps of four, so cutting the stream between calls changes nothing.
    whole = model().partial_fit(X, Y)
    assert np.array_equal(whole.coef_, feed(model(), CHUNKS).coef_)


def test_passes_are_priced_when_they_begin() -> None:
    stream = feed(model(passes=2), CHUNKS)
    once = stream.guarantee_.epsilon
    assert once < 1.0
    stream.begin_pass()
    assert stream.guarantee_.epsilon == 1.0
    assert (stream.rows_seen_, stream.passes_begun_) == (0, 2)
    feed(stream, CHUNKS)
    with pytest.raises(Incompatible, match="2 pass"):
        stream.begin_pass()
    assert model(passes=2).fit(X, Y).guarantee_.epsilon == 1.0


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classifiers_learn(loss: str) -> None:
    rng = np.random.default_rng(1)
    data = rng.normal(size=(6000, 3))
    labels = np.where(data[:, 0] > 0, "up", "down")
    stream = model(loss=loss, epsilon=4.0, n_rows=6000, batch_size=None, norm_guess=10.0)
    for part in range(0, 6000, 1000):
        stream.partial_fit(data[part : part + 1000], labels[part : part + 1000])
    assert stream.score(data, labels) > 0.9
    assert hasattr(stream, "predict_proba") == (loss == "logistic")
    if loss == "logistic":
        assert np.allclose(stream.predict_proba(data).sum(axis=1), 1.0)


def test_several_classes_share_one_release() -> None:
    rng = np.random.default_rng(2)
    centres = np.array([[3.0, 0.0], [-3.0, 3.0], [-3.0, -3.0]])
    index = rng.integers(0, 3, 6000)
    data = centres[index] + rng.normal(size=(6000, 2))
    bounds = Bounds(row_norm=4.0, classes=("a", "b", "c"))
    stream = model(bounds=bounds, epsilon=4.0, n_rows=6000, batch_size=None)
    labels = np.array(["a", "b", "c"])[index]
    stream.fit(data, labels)
    assert stream.coef_.shape == (3, 2)
    assert stream.score(data, labels) > 0.9
    assert stream.predict_proba(data).shape == (6000, 3)
    with pytest.raises(Incompatible, match="two classes"):
        model(bounds=bounds, loss="hinge").fit(data, labels)


@pytest.mark.parametrize("loss", ["huber", "absolute", "squared"])
def test_regressors_learn(loss: str) -> None:
    rng = np.random.default_rng(3)
    data = rng.uniform(-1, 1, size=(5000, 2))
    target = 10 + 5 * data[:, 0]
    bounds = Bounds(features=(-1, 1), label=(0, 20))
    stream = PrivateStreamRegressor(
        epsilon=4.0, bounds=bounds, loss=loss, n_rows=5000, random_state=0, average=True
    )
    for part in range(0, 5000, 1250):
        stream.partial_fit(data[part : part + 1250], target[part : part + 1250])
    error = np.abs(stream.predict(data) - target).mean()
    assert error < 0.6 * np.abs(target - target.mean()).mean()
    assert isinstance(stream.intercept_, float)


def test_declared_facts_are_needed_and_checked() -> None:
    with pytest.raises(MissingBound, match="classes"):
        model(bounds=Bounds(row_norm=1.0)).partial_fit(X, Y)
    known = model(bounds=Bounds(row_norm=1.0)).partial_fit(X, Y, classes=["up", "down", "flat"])
    assert known.classes_.tolist() == ["down", "flat", "up"]
    stream = feed(model(), CHUNKS[:1])
    before = stream.coef_.copy()
    with pytest.raises(InvalidData, match="declared classes"):
        stream.partial_fit(X[:2], ["up", "sideways"])
    assert np.array_equal(stream.coef_, before)
    assert stream.rows_seen_ == 20
    with pytest.warns(UndeclaredBounds):
        fitted = PrivateStreamClassifier().fit(X, Y)
    assert "the set of labels is public" in fitted.guarantee_.assumptions
    with pytest.raises(Incompatible, match="add-remove"):
        model(neighbours="add-remove").partial_fit(X, Y)
    with pytest.raises(InvalidParameter, match="loss"):
        model(loss="magic").partial_fit(X, Y)


def test_a_plan_needs_no_data() -> None:
    plan = model(constraint=L2Ball(radius=3.0)).plan(3)
    assert plan.facts()["algorithm"] == "ftrl"
    assert plan.guarantee.epsilon == 1.0


# Copies.


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copy_predicts_but_cannot_go_on(copied: Any) -> None:
    stream = feed(model(), CHUNKS[:2])
    twin = copied(stream)
    assert np.array_equal(twin.predict(X), stream.predict(X))
    assert twin.random_state is None
    assert not {"_learner", "_journal"} & set(vars(twin))
    with pytest.raises(Incompatible, match="copy"):
        twin.partial_fit(X[40:60], Y[40:60])
    with pytest.raises(Incompatible, match="copy"):
        twin.begin_pass()
    stream.partial_fit(X[40:60], Y[40:60])  # the original still can


def test_two_that_go_on_from_one_state_would_add_different_noise() -> None:
    # Why copies are refused: the mean of the two has half the variance of the noise.
    learner = feed(model(random_state=None), CHUNKS[:2])._own_learner()
    source = ArraySource(X[40:44], (Y[40:44] == "up").astype(int))
    rows = learner.plan.problem.bounding.apply(source)
    twins = [learner._copy() for _ in range(2)]
    for twin in twins:
        twin.learn(rows)
    assert (twins[0].weights != twins[1].weights).all()
    assert np.array_equal(*(t._sums.state()["secret"]["sums"] for t in twins))


def test_a_model_file_holds_what_may_be_published_only(tmp_path: Path) -> None:
    stream = feed(model(state_path=tmp_path / "state.json"), CHUNKS[:2])
    stream.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    for word in ("_sums", "secret", "learner", "state.json", "owner"):
        assert word not in text
    again = load(tmp_path / "model.json")
    assert np.array_equal(again.coef_, stream.coef_)
    assert again.guarantee_ == stream.guarantee_
    with pytest.raises(Incompatible, match="copy"):
        again.partial_fit(X[40:60], Y[40:60])


# Crashes.


def test_a_folder_is_no_state_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="names a folder"):
        feed(model(state_path=tmp_path), CHUNKS[:1])


def test_the_state_file_is_secret_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path), CHUNKS[:2])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    held = json.loads(path.read_text())
    assert held["warning"].startswith("SECRET")
    assert held["content"]["learner"]["_sums"]["secret"]["sums"]
    assert "random_state" not in held["content"]["model"]["parameters"]
    assert stream.state_path == path


@pytest.mark.parametrize("strategy", ["blt", "toeplitz", "honaker", "tree"])
def test_a_resumed_stream_is_the_uninterrupted_one(tmp_path: Path, strategy: str) -> None:
    path, random = tmp_path / "state.json", Seeded(5)
    straight = feed(model(random_state=Seeded(5), strategy=strategy), CHUNKS)
    stream = model(state_path=path, random_state=random, strategy=strategy)
    stream.partial_fit(X[CHUNKS[0]], Y[CHUNKS[0]])
    for chunk in CHUNKS[1:]:
        last = stream.coef_
        stream = PrivateStreamClassifier.resume(path, random_state=random)
        assert np.array_equal(stream.coef_, last)  # nothing new is released by a resume
        assert stream.rows_seen_ == chunk.start
        stream.partial_fit(X[chunk], Y[chunk], start=chunk.start)
    assert np.array_equal(stream.coef_, straight.coef_)
    assert stream.guarantee_ == straight.guarantee_


def test_a_resumed_stream_refuses_rows_already_learned(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    feed(model(state_path=path), CHUNKS[:2])
    stream = PrivateStreamClassifier.resume(path)
    before = stream.coef_.copy()
    with pytest.raises(InvalidData, match="start=40"):
        stream.partial_fit(X[:20], Y[:20])  # no place given
    for start in (0, 20, 39):
        with pytest.raises(InvalidData, match="place 40"):
            stream.partial_fit(X[start : start + 20], Y[start : start + 20], start=start)
    assert np.array_equal(stream.coef_, before)
    stream.partial_fit(X[40:60], Y[40:60], start=40)
    stream.partial_fit(X[60:70], Y[60:70])  # from here on the place is known
    stream.partial_fit(X[80:90], Y[80:90], start=80)  # rows that were lost do no harm
    assert stream.rows_seen_ == 90
    with pytest.raises(InvalidData, match="place 90"):
        stream.partial_fit(X[70:80], Y[70:80], start=70)


def test_replays_are_refused_without_a_crash_too() -> None:
    stream = feed(model(), CHUNKS[:2])
    with pytest.raises(InvalidData, match="place 40"):
        stream.partial_fit(X[20:40], Y[20:40], start=20)


@pytest.mark.parametrize("at", ["fsync", "replace", "after"])
def test_a_crash_while_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path), CHUNKS[:2])
    released, replace = stream.coef_.copy(), os.replace

    def crash(*arguments: Any) -> None:
        if at == "after":
            replace(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync" if at == "fsync" else "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            stream.partial_fit(X[40:60], Y[40:60])
    # Nothing was published by the call that crashed.
    assert np.array_equal(stream.coef_, released)
    assert stream.rows_seen_ == stream._own_learner().rows == 40
    if at == "after":
        # The step is on record, so this process must not draw its noise again.
        with pytest.raises(InvalidData, match="moved on"):
            stream.partial_fit(X[40:60], Y[40:60])
    resumed = PrivateStreamClassifier.resume(path)
    assert resumed.rows_seen_ == (60 if at == "after" else 40)
    if at == "after":
        with pytest.raises(InvalidData, match="place 60"):
            resumed.partial_fit(X[40:60], Y[40:60], start=40)
    else:
        assert np.array_equal(resumed.coef_, released)
    resumed.partial_fit(X[60:80], Y[60:80], start=60)


def test_a_killed_writer_leaves_the_last_state(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path), CHUNKS[:1])
    (tmp_path / "state.json.next").write_text("{ half")
    with pytest.raises(InvalidData, match="crashed"):
        stream.partial_fit(X[20:40], Y[20:40])
    resumed = PrivateStreamClassifier.resume(path)
    assert resumed.rows_seen_ == 20
    resumed.partial_fit(X[20:40], Y[20:40], start=20)


def test_only_the_last_to_resume_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    original = feed(model(state_path=path), CHUNKS[:1])
    first = PrivateStreamClassifier.resume(path)
    second = PrivateStreamClassifier.resume(path)
    for old in (original, first):
        with pytest.raises(InvalidData, match="another process"):
            old.partial_fit(X[20:40], Y[20:40], start=20)
    second.partial_fit(X[20:40], Y[20:40], start=20)


def test_a_stream_is_not_started_twice_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    feed(model(state_path=path), CHUNKS[:1])
    for start_over in (lambda m: m.partial_fit(X, Y), lambda m: m.fit(X, Y)):
        with pytest.raises(InvalidParameter, match="exists"):
            start_over(model(state_path=path))


def test_files_that_are_no_state_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Journal.create(path)
    with pytest.raises(InvalidParameter, match="nothing was recorded"):
        PrivateStreamClassifier.resume(path)
    path.write_text("{}")
    with pytest.raises(InvalidParameter, match="not a stream state"):
        PrivateStreamClassifier.resume(path)
    other = tmp_path / "other.json"
    stream = feed(model(state_path=other), CHUNKS[:1])
    whole = other.read_bytes()
    with pytest.raises(Incompatible, match=r"Use PrivateStreamClassifier\.resume"):
        PrivateStreamRegressor.resume(other)
    with pytest.raises(InvalidParameter, match="random_state"):
        PrivateStreamClassifier.resume(other, random_state="some")
    # Nothing was taken over, so whoever owns the stream goes on.
    assert other.read_bytes() == whole
    assert feed(stream, CHUNKS[1:2]).rows_seen_ == 40


STATE_EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    **{
        f"no {name}": lambda held, name=name: held["content"].pop(name)
        for name in ("model", "bounds", "n_rows", "assumptions", "seeded", "position", "learner")
    },
    **{f"no {name}": lambda held, name=name: held.pop(name) for name in ("owner", "serial")},
    "content that is a list": lambda held: held.update(content=[1]),
    "a serial of text": lambda held: held.update(serial="3"),
    "a model that is text": lambda held: held["content"].update(model="none"),
    "no weights in the model": lambda held: held["content"]["model"]["model"].pop("coef_"),
    "a smaller epsilon": lambda held: held["content"]["model"]["guarantee"].update(epsilon=0.1),
    "strange bounds": lambda held: held["content"]["bounds"].update(strange=1),
    "half a row": lambda held: held["content"]["learner"].update(rows=39.5),
    "steps below 0": lambda held: held["content"]["learner"].update(steps=-1),
    "a place before rows learned": lambda held: held["content"].update(position=20),
    "short weights": lambda held: held["content"]["learner"]["weights"].pop(),
    "endless weights": lambda held: held["content"]["learner"]["_base"].__setitem__(0, math.inf),
    "no strategy": lambda held: held["content"]["learner"].update(_strategy={}),
    "no sums": lambda held: held["content"]["learner"]["_sums"].pop("secret"),
    "short sums": lambda held: held["content"]["learner"]["_sums"].update(secret={"sums": [7.5]}),
    "assumptions that are text": lambda held: held["content"].update(assumptions="abc"),
    "assumptions that are numbers": lambda held: held["content"].update(assumptions=[1]),
    "a longer stream": lambda held: held["content"].update(n_rows=600),
    **{
        f"{name} of {value}": lambda held, name=name, value=value: held["content"][
            "learner"
        ].update({name: value})
        for name, value in (
            ("steps", 0),
            ("rows", 0),
            ("rows", 41),
            ("passes", 0),
            ("passes", 2),
            ("_block", 1),
            ("_block", 3),
            ("_block", 10**12),
            ("_rows_before", 20),
            ("_steps_before", 5),
        )
    },
    **{
        f"sums of {steps} steps": lambda held, steps=steps: held["content"]["learner"][
            "_sums"
        ].update(steps=steps)
        for steps in (0, 9, 11, 16)
    },
    "steps moved to an earlier block": lambda held: (
        held["content"]["learner"].update(_steps_before=6),
        held["content"]["learner"]["_sums"].update(steps=4),
    ),
    "steps set back alone": lambda held: (
        held["content"]["learner"].update(steps=4),
        held["content"]["learner"]["_sums"].update(steps=4),
    ),
}
"""Edits that are found without the checksum too."""

SILENT_EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no secret sums": lambda held: _zero(held["content"]["learner"]["_sums"]["secret"]),
    "no public sums": lambda held: _zero(held["content"]["learner"]["_sums"]["public"]),
    **{
        f"zeros for {name}": lambda held, name=name: held["content"]["learner"].update(
            {name: [0.0] * len(held["content"]["learner"][name])}
        )
        for name in ("weights", "_prefix", "_total")
    },
    "other bounds": lambda held: held["content"]["bounds"].update(row_norm=3.0),
    "another loss": lambda held: held["content"]["model"]["parameters"].update(loss="hinge"),
    "other assumptions": lambda held: held["content"].update(assumptions=["none"]),
    "a later place": lambda held: held["content"].update(position=50),
    "unseeded noise": lambda held: held["content"].update(seeded=False),
    "another owner": lambda held: held.update(owner="me"),
    "another serial": lambda held: held.update(serial=7),
    "no warning": lambda held: held.update(warning=""),
    "no checksum": lambda held: held.pop("sha256"),
    "a checksum of another kind": lambda held: held.update(sha256=["1"]),
    "more in it": lambda held: held.update(note="mine"),
}
"""Edits that only the checksum finds."""


def _zero(arrays: dict[str, Any]) -> None:
    for name, values in arrays.items():
        arrays[name] = (0.0 * np.array(values)).tolist()


@pytest.mark.parametrize("signed", [False, True], ids=["old checksum", "new checksum"])
@pytest.mark.parametrize("edit", STATE_EDITS)
def test_a_damaged_state_is_refused_without_a_word_of_it(
    tmp_path: Path, edit: str, signed: bool
) -> None:
    path = tmp_path / "state.json"
    feed(model(state_path=path), CHUNKS[:2])
    text = edit_state(path, STATE_EDITS[edit], signed=signed)
    half = tmp_path / "state.json.next"
    half.write_text("half a st")
    with pytest.raises(InvalidData) as caught:
        PrivateStreamClassifier.resume(path)
    assert str(caught.value) == DAMAGED
    # What cannot be resumed has not been taken over either.
    assert path.read_text() == text
    assert half.read_text() == "half a st"
    # A cause may quote sums of data.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("edit", SILENT_EDITS)
def test_a_careless_edit_stops_the_owner_and_whoever_resumes(tmp_path: Path, edit: str) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path), CHUNKS[:2])
    text, released = edit_state(path, SILENT_EDITS[edit], signed=False), stream.coef_
    with pytest.raises(InvalidData) as caught:
        PrivateStreamClassifier.resume(path)
    assert str(caught.value) == DAMAGED
    with pytest.raises(InvalidData, match="damaged"):
        feed(stream, CHUNKS[2:3])
    assert path.read_text() == text
    assert np.array_equal(stream.coef_, released)
    assert stream.rows_seen_ == 40


def test_the_layout_of_a_state_file_is_free(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    feed(model(state_path=path), CHUNKS[:2])
    held = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(held.items())), indent=2))
    assert PrivateStreamClassifier.resume(path).rows_seen_ == 40


@pytest.mark.parametrize("strategy", ["blt", "toeplitz", "honaker", "tree"])
@pytest.mark.parametrize("first", [0, 4], ids=["one pass", "second pass"])
def test_no_edit_of_a_count_gives_a_block_more_steps_than_its_noise_covers(
    tmp_path: Path, strategy: str, first: int
) -> None:
    """60 steps of a block of 64, of which the file is made to say 4."""
    path = tmp_path / "state.json"
    stream = model(state_path=path, strategy=strategy, n_rows=64, batch_size=1, passes=2)
    if first:
        # As many steps before as the second pass is said to have.
        stream.partial_fit(X[:first], Y[:first]).begin_pass()
    stream.partial_fit(X[:60], Y[:60])
    text = edit_state(
        path, lambda held: held["content"]["learner"]["_sums"].update(steps=4), signed=True
    )
    with pytest.raises(InvalidData) as caught:
        PrivateStreamClassifier.resume(path)
    assert str(caught.value) == DAMAGED
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("strategy", "error", "match"),
    [("blt", Incompatible, "noise"), ("tree", InvalidData, "damaged")],
)
def test_no_edit_gives_a_block_a_longer_horizon(
    tmp_path: Path, strategy: str, error: type[Exception], match: str
) -> None:
    path = tmp_path / "state.json"
    feed(model(state_path=path, strategy=strategy, n_rows=36), CHUNKS[:1])
    # A tree of 9 steps has the noise of one of 15; other noise depends on every step.
    text = edit_state(
        path, lambda held: held["content"]["learner"]["_strategy"].update(horizon=15), signed=True
    )
    with pytest.raises(error, match=match):
        PrivateStreamClassifier.resume(path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("edit", "sums"),
    [
        ({"rows": 20}, 15),
        ({"_block": 0}, 15),
        ({"_block": 2}, 15),
        ({"_steps_before": 20}, 10),
        ({"_steps_before": 10}, 20),
        ({"steps": 20}, 5),
    ],
)
def test_counts_of_a_later_block_must_agree(
    tmp_path: Path, edit: dict[str, int], sums: int
) -> None:
    """30 steps: a block of 15 that is full, and 15 steps of one of 30."""
    path = tmp_path / "state.json"
    feed(model(state_path=path, strategy="tree"), CHUNKS)
    learner = json.loads(path.read_text())["content"]["learner"]
    assert [learner[n] for n in ("_block", "steps", "_steps_before", "rows")] == [1, 30, 15, 120]
    edit_state(
        path,
        lambda held: (
            held["content"]["learner"].update(edit),
            held["content"]["learner"]["_sums"].update(steps=sums),
        ),
        signed=True,
    )
    with pytest.raises(InvalidData, match="damaged"):
        PrivateStreamClassifier.resume(path)


def test_a_place_set_back_in_a_later_pass_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    feed(feed(model(state_path=path, passes=2), CHUNKS).begin_pass(), CHUNKS[:2])
    whole = path.read_text()
    for edit in ({"position": 20}, {"position": 0}):
        edit_state(path, lambda held, edit=edit: held["content"].update(edit), signed=True)
        with pytest.raises(InvalidData, match="damaged"):
            PrivateStreamClassifier.resume(path)
        path.write_text(whole)
    edit_state(
        path,
        lambda held: (
            held["content"].update(position=0),
            held["content"]["learner"].update(_rows_before=160),
        ),
        signed=True,
    )
    with pytest.raises(InvalidData, match="damaged"):
        PrivateStreamClassifier.resume(path)
    path.write_text(whole)
    assert PrivateStreamClassifier.resume(path).rows_seen_ == 40


@pytest.mark.parametrize("seed", range(4))
def test_every_state_a_stream_comes_to_can_be_resumed(tmp_path: Path, seed: int) -> None:
    """Blocks that are full, cut short by a pass, or just begun; steps of fewer rows."""
    rng, path = np.random.default_rng(seed), tmp_path / "state.json"
    stream = model(state_path=path, strategy="tree", n_rows=6, passes=4)
    stream.partial_fit(X[:1], Y[:1])
    passes = {1}
    for _ in range(25):
        if rng.random() < 0.2 and stream.passes_begun_ < 4:
            stream.begin_pass()
        else:
            place, count = stream.rows_seen_, rng.integers(1, 20)
            rows = slice(place % 100, place % 100 + count)
            stream.partial_fit(X[rows], Y[rows], start=place)
        resumed = PrivateStreamClassifier.resume(path)
        assert resumed._own_learner().state() == stream._own_learner().state()
        assert resumed.rows_seen_ == stream.rows_seen_
        stream = resumed
        passes.add(stream.passes_begun_)
    assert len(passes) > 2


def test_one_stream_of_noise_through_all_passes_is_restored_too() -> None:
    endless = model(passes=2).plan(3)
    plan = replace(endless, config=replace(endless.config, restart=False, endless=False))
    labels = (Y[:60] == "up").astype(int)
    rows = plan.problem.bounding.apply(ArraySource(X[:60], labels))
    learner = plan.start(Seeded(0))
    for number in range(2):
        if number:
            learner.begin_pass()
        for start in range(0, 60, 20):
            learner.learn(rows.take(slice(start, start + 20)))
            again = plan.start(Seeded(0))
            again.restore(learner.state())
            assert again.state() == learner.state()
    state = learner.state()
    with pytest.raises(InvalidParameter, match="does not fit"):
        plan.start(Seeded(0)).restore(state | {"_sums": state["_sums"] | {"steps": 15}})


# Paths.


def test_a_missing_folder_is_named_before_anything_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "later" / "state.json"
    stream = model(state_path=path)
    for attempt in (
        lambda: stream.partial_fit(X[:20], Y[:20]),
        lambda: PrivateStreamClassifier.resume(path),
    ):
        with pytest.raises(InvalidParameter) as caught:
            attempt()
        assert str(caught.value) == NO_FOLDER
    path.parent.mkdir()
    assert feed(stream, CHUNKS[:1]).rows_seen_ == 20


def test_a_missing_state_file_is_answered_in_words(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(InvalidParameter) as caught:
        PrivateStreamClassifier.resume(path)
    assert str(caught.value) == MISSING
    with pytest.raises(InvalidParameter, match="names a folder"):
        PrivateStreamClassifier.resume(tmp_path)
    assert not list(tmp_path.iterdir())
    stream = feed(model(state_path=path), CHUNKS[:1])
    path.rename(tmp_path / "away.json")
    with pytest.raises(InvalidParameter, match="put it back"):
        feed(stream, CHUNKS[1:2])
    assert stream.rows_seen_ == 20
    (tmp_path / "away.json").rename(path)
    assert feed(stream, CHUNKS[1:2]).rows_seen_ == 40


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_start_that_was_killed_leaves_one_file_to_remove(tmp_path: Path, share: float) -> None:
    path, half = tmp_path / "state.json", tmp_path / "state.json.next"
    Journal.create(path)
    text = path.read_text()
    path.unlink()
    half.write_text(text[: int(share * len(text))])
    left = half.read_text()
    for attempt in (
        lambda: model(state_path=path).partial_fit(X[:20], Y[:20]),
        lambda: model(state_path=path).fit(X, Y),
        lambda: PrivateStreamClassifier.resume(path),
    ):
        with pytest.raises(InvalidParameter) as caught:
            attempt()
        assert str(caught.value) == LEFTOVER
        assert half.read_text() == left
        assert not path.exists()
    half.unlink()
    assert feed(model(state_path=path), CHUNKS[:1]).rows_seen_ == 20


def test_a_state_file_put_back_beside_a_leftover_goes_on(tmp_path: Path) -> None:
    path, away = tmp_path / "state.json", tmp_path / "away.json"
    feed(model(state_path=path), CHUNKS[:1])
    (tmp_path / "state.json.next").write_text("{ half")
    path.rename(away)
    with pytest.raises(InvalidParameter, match="put it back"):
        PrivateStreamClassifier.resume(path)
    away.rename(path)
    assert PrivateStreamClassifier.resume(path).rows_seen_ == 20
    assert [found.name for found in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_state_stops_its_owner_and_whoever_resumes_it(
    tmp_path: Path, share: float
) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path), CHUNKS[:2])
    whole = path.read_bytes()
    for text in (whole[: int(share * len(whole))], b"[" * 9**6, b"\xff\xfe\x00", b"[1]"):
        path.write_bytes(text)
        with pytest.raises(InvalidData, match="damaged"):
            PrivateStreamClassifier.resume(path)
        with pytest.raises(InvalidData, match="damaged"):
            feed(stream, CHUNKS[2:3])
        assert path.read_bytes() == text


def test_a_state_without_a_sure_mark_counts_as_seeded(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    feed(model(state_path=path, random_state=None), CHUNKS[:2])
    assert PrivateStreamClassifier.resume(path).guarantee_.secure
    edit_state(path, lambda held: held["content"].update(seeded=0), signed=True)
    assert not PrivateStreamClassifier.resume(path).guarantee_.secure


def test_passes_and_security_survive_a_resume(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path, passes=2), CHUNKS)
    before = stream.guarantee_
    assert not before.secure
    resumed = PrivateStreamClassifier.resume(path)
    assert resumed.guarantee_ == before  # seeded noise stays known, whatever comes after
    resumed.begin_pass()
    again = PrivateStreamClassifier.resume(path)
    assert (again.passes_begun_, again.rows_seen_) == (2, 0)
    assert again.guarantee_.epsilon == 1.0
    again.partial_fit(X[:20], Y[:20], start=0)
    with pytest.raises(Incompatible, match="2 pass"):
        again.begin_pass()
    assert Guarantee.from_dict(again.guarantee_.to_dict()) == again.guarantee_


@pytest.mark.parametrize(
    "change",
    [{"epsilon": 0.1}, {"delta": 1e-12}, {"neighbours": "replace-one"}, {"passes": 4}],
    ids=lambda change: next(iter(change)),
)
def test_settings_changed_on_the_way_change_no_claim(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path), CHUNKS[:2])
    noise = stream._own_learner().plan.block(0).sigma
    stream.set_params(**change)
    feed(stream, CHUNKS[2:3])
    resumed = PrivateStreamClassifier.resume(path)
    assert resumed.guarantee_ == stream.guarantee_
    assert resumed._own_learner().plan.block(0).sigma == noise
    resumed.partial_fit(X[60:80], Y[60:80], start=60)
    assert PrivateStreamClassifier.resume(path).guarantee_ == stream.guarantee_
    # Even a file that was changed does not turn old noise into another promise.
    edit_state(
        path, lambda held: held["content"]["model"]["parameters"].update(change), signed=True
    )
    with pytest.raises((Incompatible, InvalidData), match=r"would not be true|was edited"):
        PrivateStreamClassifier.resume(path)


# Links and processes: a stream has one file and one process.


def test_a_link_leads_to_the_one_file(tmp_path: Path) -> None:
    path, link = tmp_path / "state.json", tmp_path / "link.json"
    first = feed(model(state_path=path), CHUNKS[:1])
    link.symlink_to(path)
    resumed = PrivateStreamClassifier.resume(link)
    assert link.is_symlink()
    with pytest.raises(InvalidData, match="another process"):
        feed(first, CHUNKS[1:2])
    resumed.partial_fit(X[20:40], Y[20:40], start=20)
    # Nor does a stream follow a link, or a working folder, that changes.
    link.unlink()
    link.symlink_to(tmp_path / "other.json")
    assert feed(resumed, CHUNKS[2:3]).rows_seen_ == 60
    (tmp_path / "third.json").symlink_to(path)
    with pytest.raises(InvalidParameter, match="exists"):
        feed(model(state_path=tmp_path / "third.json"), CHUNKS[:1])


def test_a_relative_path_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    stream = feed(model(state_path="state.json"), CHUNKS[:1])
    monkeypatch.chdir(tmp_path / "a")
    feed(stream, CHUNKS[1:2])
    assert PrivateStreamClassifier.resume(tmp_path / "state.json").rows_seen_ == 40


@pytest.mark.parametrize("who", ["owner", "resume by one name", "resume by the other"])
def test_a_file_of_two_names_is_refused(tmp_path: Path, who: str) -> None:
    path, other = tmp_path / "state.json", tmp_path / "other.json"
    stream = feed(model(state_path=path), CHUNKS[:1])
    os.link(path, other)
    before = path.read_bytes()
    acts: dict[str, Callable[[], object]] = {
        "owner": lambda: feed(stream, CHUNKS[1:2]),
        "resume by one name": lambda: PrivateStreamClassifier.resume(path),
        "resume by the other": lambda: PrivateStreamClassifier.resume(other),
    }
    with pytest.raises(InvalidParameter, match="more than one name"):
        acts[who]()
    assert path.read_bytes() == other.read_bytes() == before
    assert stream.rows_seen_ == 20
    other.unlink()
    assert feed(stream, CHUNKS[1:2]).rows_seen_ == 40


def in_a_fork(act: Callable[[], object]) -> str:
    """Return the name of the error of ``act`` in a forked process, or "none"."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        answer = "none"
        try:
            act()
        except BaseException as error:
            answer = type(error).__name__
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        return file.read()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("kept", [False, True], ids=["without a file", "with a file"])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_forked_process_cannot_go_on(tmp_path: Path, kept: bool, resumed: bool) -> None:
    path = tmp_path / "state.json"
    stream = feed(model(state_path=path if kept or resumed else None, passes=2), CHUNKS[:1])
    if resumed:
        stream = PrivateStreamClassifier.resume(path)
    rows = X[20:40], Y[20:40]
    assert in_a_fork(lambda: stream.partial_fit(*rows, start=20)) == "Incompatible"
    assert in_a_fork(stream.begin_pass) == "Incompatible"
    assert in_a_fork(lambda: in_a_fork(stream.begin_pass) == "Incompatible" or 1 / 0) == "none"
    assert in_a_fork(lambda: stream.predict(X)) == "none"
    learner = stream._own_learner()
    bounded = learner.plan.problem.bounding.apply(ArraySource(X[20:24], np.array([0, 1, 0, 1])))
    assert in_a_fork(lambda: learner.learn(bounded)) == "Incompatible"
    # A number of a process may be used again; its mark is not.
    with pytest.MonkeyPatch.context() as patch:
        here = os.getpid()
        patch.setattr(os, "getpid", lambda: here)
        assert in_a_fork(lambda: stream.partial_fit(*rows, start=20)) == "Incompatible"
    assert stream.partial_fit(*rows, start=20).rows_seen_ == 40
    if kept:
        # What a fork may do is to take the stream over in words.
        assert in_a_fork(lambda: PrivateStreamClassifier.resume(path)) == "none"
        with pytest.raises(InvalidData, match="another process"):
            stream.partial_fit(X[40:60], Y[40:60])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_learner_has_no_copies(copied: Any) -> None:
    learner = feed(model(), CHUNKS[:1])._own_learner()
    with pytest.raises(Incompatible, match="cannot be copied"):
        copied(learner)


def test_rows_learned_but_not_published_are_not_learned_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = feed(model(), CHUNKS[:2])

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PrivateStreamClassifier, "_publish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stream.partial_fit(X[40:60], Y[40:60])
    with pytest.raises(Incompatible, match="cannot go on"):
        stream.partial_fit(X[40:60], Y[40:60])


def test_threads_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, learn = feed(model(), CHUNKS[:1]), StreamLearner.learn
    other = threading.Thread(target=feed, args=(stream, CHUNKS[1:2]))

    def slowly(self: StreamLearner, *arguments: Any, **settings: Any) -> None:
        if not other.ident:
            other.start()
            other.join(timeout=0.2)
        learn(self, *arguments, **settings)

    monkeypatch.setattr(StreamLearner, "learn", slowly)
    feed(stream, CHUNKS[2:3])
    other.join()
    assert stream.rows_seen_ == stream._own_learner().rows == 60


def test_a_resume_waits_for_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, replace = tmp_path / "state.json", Journal._replace
    first = Journal.create(path)
    first.write({"steps": 1})
    found: list[dict[str, Any]] = []

    def resume() -> None:
        second, content = Journal.take_over(path, dict)
        found.append(content)
        second.write({"steps": content["steps"] + 1})

    other = threading.Thread(target=resume)

    def slowly(self: Journal, content: dict[str, Any]) -> None:
        if self is first:
            other.start()
            # The owner was checked; whoever does not wait now publishes the same step.
            other.join(timeout=0.2)
        replace(self, content)

    monkeypatch.setattr(Journal, "_replace", slowly)
    first.write({"steps": 2})
    other.join()
    assert found == [{"steps": 2}]
    assert json.loads(path.read_text())["content"] == {"steps": 3}


def test_a_writer_waits_for_a_resume(tmp_path: Path) -> None:
    """Between reading the state and becoming its owner nobody records a step."""
    path = tmp_path / "state.json"
    first = Journal.create(path)
    first.write({"steps": 1})
    refused: list[InvalidData] = []

    def write() -> None:
        try:
            first.write({"steps": 2})
        except InvalidData as refusal:
            refused.append(refusal)

    other = threading.Thread(target=write)

    def read(content: dict[str, Any]) -> int:
        other.start()
        other.join(timeout=0.2)
        return int(content.pop("steps"))  # what is read is kept, whatever becomes of it here

    second, steps = Journal.take_over(path, read)
    other.join()
    assert steps == 1
    assert len(refused) == 1
    assert json.loads(path.read_text())["content"] == {"steps": 1}
    second.write({"steps": 2})


def test_without_locks_a_step_recorded_during_a_resume_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.estimators.journal.LOCKS", None)
    path = tmp_path / "state.json"
    first = Journal.create(path)
    first.write({"steps": 1})
    with pytest.raises(InvalidData, match="while it was read"):
        Journal.take_over(path, lambda _: first.write({"steps": 2}))
    assert json.loads(path.read_text())["content"] == {"steps": 2}
    first.write({"steps": 3})


def test_a_stream_that_cannot_begin_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with pytest.raises(InvalidParameter, match="random_state"):
        feed(model(state_path=path, random_state="some"), CHUNKS[:1])
    assert not path.exists()


@pytest.mark.parametrize("resumed", [False, True])
def test_an_older_copy_put_back_stops_the_owner(tmp_path: Path, resumed: bool) -> None:
    """The owner must not go on from steps that are no longer recorded, or recorded by others."""
    path = tmp_path / "state.json"
    owner = Journal.create(path)
    owner.write({"steps": 1})
    older = path.read_bytes()
    owner.write({"steps": 2})
    path.write_bytes(older)
    if resumed:  # whoever resumed it has by now recorded as many states as the owner
        Journal.take_over(path, dict)
    held = path.read_bytes()
    with pytest.raises(InvalidData):
        owner.write({"steps": 3})
    assert path.read_bytes() == held
