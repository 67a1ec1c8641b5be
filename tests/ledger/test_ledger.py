"""The ledger of a file: reservations, settlements, handles, parts and damage."""

import copy
import json
import math
import multiprocessing
import os
import pickle
import shutil
import sqlite3
import threading

import numpy as np
import pytest
from sklearn.base import clone

from discreet import Guarantee, Ledger
from discreet.accounting import Approximate, Gaussian, Pure, gaussian_multiplier
from discreet.errors import (
    BudgetExceeded,
    Incompatible,
    InvalidData,
    InvalidParameter,
    LedgerUnavailable,
)
from discreet.ledger import NotSettled, spending
from discreet.ledger.places import check_local, file_system


def pure(epsilon, **more):
    stated = {"delta": 0.0, "neighbours": "zero-out", "event": Pure(epsilon), "theorem": "t"}
    return Guarantee(**({"epsilon": epsilon} | stated | more))


def noise(epsilon, delta=1e-6, **more):
    event = Gaussian(gaussian_multiplier(epsilon, delta))
    stated = {"neighbours": "zero-out", "event": event, "theorem": "t"}
    return Guarantee(**({"epsilon": epsilon, "delta": delta} | stated | more))


def ex_post(epsilon, reserved, **more):
    return pure(epsilon, event=Pure(reserved), kind="ex-post", reserved=(reserved, 0.0), **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trial-7.ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, dataset="trial-7", epsilon=1.0, delta=1e-6)


# Spending.


def test_a_run_is_reserved_and_then_spent(ledger):
    with ledger.spending(pure(0.25), model="ridge", algorithm="gamma"):
        assert [entry.state for entry in ledger.history()] == ["reserved"]
    [entry] = ledger.history()
    assert (entry.state, entry.model, entry.algorithm) == ("spent", "ridge", "gamma")
    assert entry.guarantee == pure(0.25)
    assert ledger.affordable(pure(0.25)).times == 3


def test_what_does_not_fit_is_refused_and_costs_nothing(ledger):
    before = str(ledger.balance())
    with pytest.raises(BudgetExceeded, match=r"too little left .*affordable\(plan\)"):
        ledger.reserve(pure(1.5))
    assert str(ledger.balance()) == before
    assert ledger.history() == []
    with ledger.spending(pure(1.0)):
        pass
    with pytest.raises(BudgetExceeded):
        ledger.reserve(pure(0.01))


def test_an_error_after_the_reservation_is_spent_in_full(ledger):
    with pytest.raises(RuntimeError, match="solver"), ledger.spending(pure(0.4)):
        raise RuntimeError("solver")
    assert [entry.state for entry in ledger.history()] == ["spent"]
    assert ledger.affordable(pure(0.2)).times == 3


def test_a_reservation_that_is_never_settled_counts_in_full(ledger):
    ledger.reserve(pure(0.9))
    assert ledger.affordable(pure(0.1)).times == 1
    assert [entry.state for entry in ledger.history()] == ["reserved"]


def test_a_void_reservation_comes_back_but_revives_no_rule(ledger):
    loss = Approximate(0.5, 1e-8)
    id = ledger.reserve(pure(0.5, delta=1e-8, event=loss))
    ledger.void(id)
    assert [entry.state for entry in ledger.history()] == ["void"]
    [account] = ledger.balance().accounts.values()
    assert account.spent == (0, 0, 0, 0, 0)
    assert account.alive == ("basic", "renyi")  # the Gaussian rule could not price it


def test_a_reservation_is_settled_once(ledger):
    id = ledger.reserve(pure(0.1))
    ledger.settle(id)
    with pytest.raises(InvalidParameter, match="settled already"):
        ledger.void(id)
    with pytest.raises(InvalidParameter, match="no reservation"):
        ledger.settle("0" * 32)


def test_what_an_ex_post_run_did_not_need_comes_back_in_the_basic_account_alone(ledger):
    with ledger.spending(ex_post(0.8, 0.8)) as entry:
        before = next(iter(ledger.balance().accounts.values()))
        entry.settle(ex_post(0.3, 0.8))
    after = next(iter(ledger.balance().accounts.values()))
    assert after.spent[0] == math.ceil(0.3 * 2**60)
    assert after.spent[1:] == before.spent[1:]
    assert after.alive == before.alive
    assert ledger.affordable(pure(0.7)).times == 1
    assert "0.8 was reserved" in str(ledger.history()[0])
    ledger.verify()


def test_an_ex_post_run_with_a_delta_gets_nothing_back(path):
    ledger = Ledger.create(path, dataset="d", epsilon=1.0, delta=1e-6, policy="basic")
    event = Approximate(0.8, 1e-8)
    reserved = pure(0.8, delta=1e-8, event=event, kind="ex-post", reserved=(0.8, 1e-8))
    with ledger.spending(reserved) as entry:
        entry.settle(pure(0.1, delta=1e-8, event=event, kind="ex-post", reserved=(0.8, 1e-8)))
    assert ledger.affordable(pure(0.3)).times == 0


def test_seeded_runs_and_other_units_and_relations_are_refused(ledger, tmp_path):
    with pytest.raises(Incompatible, match="seeded"):
        ledger.reserve(pure(0.1, secure=False))
    with pytest.raises(Incompatible, match="one row"):
        ledger.reserve(pure(0.1, unit="group"))
    for relation in ("replace-one", "add-remove"):
        ledger.reserve(pure(0.1, neighbours=relation))  # zero-out follows from both
        other = Ledger.create(
            tmp_path / relation, dataset="d", epsilon=1.0, delta=0.0, neighbours=relation
        )
        with pytest.raises(Incompatible, match="neighbours"):
            other.reserve(pure(0.1))
        other.reserve(pure(0.1, neighbours=relation))


def test_a_closed_ledger_refuses_runs_and_settles_what_is_open(ledger):
    id = ledger.reserve(pure(0.1))
    ledger.close()
    assert ledger.closed
    with pytest.raises(BudgetExceeded, match="closed"):
        ledger.reserve(pure(0.1))
    with pytest.raises(BudgetExceeded, match="closed"):
        ledger.close()
    ledger.settle(id)
    ledger.verify()


def test_the_largest_epsilon_that_fits_is_admitted_and_a_larger_one_is_not(ledger):
    ledger.reserve(noise(0.3))
    found = ledger.affordable(noise(0.3))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(noise(found.epsilon * 1.001))
    ledger.reserve(noise(found.epsilon))
    assert ledger.affordable(pure(0.5)).epsilon < 0.5


def test_affordable_takes_a_function_of_epsilon(ledger):
    ledger.reserve(pure(0.6))
    assert ledger.affordable(pure).epsilon == pytest.approx(0.4, rel=1e-5)
    with pytest.raises(InvalidParameter, match="Pass a plan"):
        ledger.affordable(0.3)


def test_the_whole_has_the_guarantee_of_the_cap(ledger):
    whole = ledger.guarantee()
    assert (whole.epsilon, whole.delta) == pytest.approx((1.0, 1e-6), rel=1e-11)
    assert whole.epsilon > 1.0  # ten times 0.1 is more than 1, by a hair
    assert (whole.kind, whole.neighbours, whole.unit) == ("ex-ante", "zero-out", "row")


def test_settling_that_fails_keeps_the_model_and_the_reservation(ledger, path):
    with pytest.warns(NotSettled, match="counts in full"), ledger.spending(pure(0.3)):
        path.rename(path.with_suffix(".away"))
    path.with_suffix(".away").rename(path)
    assert [entry.state for entry in ledger.history()] == ["reserved"]


def test_without_a_ledger_nothing_is_counted():
    with spending(None, pure(0.3)) as entry:
        entry.settle()
        entry.void()


# Handles.


def test_a_handle_survives_copies_clones_and_pickles(ledger, path):
    assert copy.copy(ledger) is copy.deepcopy(ledger) is clone(ledger, safe=False) is ledger
    again = pickle.loads(pickle.dumps(ledger))
    assert again == ledger == Ledger.open(path)
    assert hash(again) == hash(ledger)
    again.reserve(pure(0.5))
    assert ledger.affordable(pure(0.5)).times == 1
    assert "trial-7.ledger" in repr(ledger)


def _spend(ledger):
    try:
        with ledger.spending(pure(0.1)):
            return 1
    except BudgetExceeded:
        return 0


def test_threads_share_one_account(ledger):
    done = []
    threads = [threading.Thread(target=lambda: done.append(_spend(ledger))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 10
    ledger.verify()


def test_a_fork_shares_the_account_and_not_the_connection(ledger):
    assert _spend(ledger) == 1  # a connection is open now
    with multiprocessing.get_context("fork").Pool(2) as pool:
        done = pool.map(_spend, [ledger] * 12)
    assert sum(done) == 9
    assert _spend(ledger) == 0
    ledger.verify()


# The file.


def test_a_ledger_is_never_created_twice(ledger, path):
    with pytest.raises(InvalidParameter, match="second budget"):
        Ledger.create(path, dataset="trial-7", epsilon=9.0, delta=0.0)
    assert sorted(p.name for p in path.parent.iterdir() if "part" in p.name) == []
    assert oct(path.stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"dataset": ""}, "dataset"),
        ({"dataset": ["a", "a"]}, "dataset"),
        ({"dataset": 7}, "dataset"),
        ({"neighbours": "swap"}, "neighbours"),
        ({"unit": "person"}, "unit"),
        ({"policy": "pld"}, "policy"),
        ({"policy": "gdp", "delta": 0.0}, "admits nothing"),
    ],
)
def test_a_ledger_that_cannot_be_kept_is_not_created(path, change, match):
    with pytest.raises(InvalidParameter, match=match):
        Ledger.create(path, **({"dataset": "d", "epsilon": 1.0, "delta": 1e-6} | change))
    assert not path.exists()


def test_other_files_are_refused(path, tmp_path):
    with pytest.raises(InvalidParameter, match="no ledger"):
        Ledger.open(path)
    path.write_text("not a ledger at all, however long it may be" * 50)
    with pytest.raises(InvalidData, match="not a ledger"):
        Ledger.open(path)
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(InvalidData, match="not a ledger"):
        Ledger.open(other)
    with pytest.raises(InvalidParameter, match="folder"):
        Ledger.create(tmp_path / "no" / "x", dataset="d", epsilon=1.0, delta=0.0)


def test_another_ledger_in_the_same_place_is_not_spent_from(ledger, path):
    ledger.balance()  # the file is open now
    path.rename(path.with_suffix(".old"))
    for rest in path.parent.glob("*-wal"):
        rest.unlink()
    Ledger.create(path, dataset="trial-7", epsilon=1.0, delta=1e-6)
    for handle in (ledger, pickle.loads(pickle.dumps(ledger))):
        with pytest.raises(InvalidData, match="Another ledger"):
            handle.reserve(pure(0.1))


def test_entries_are_only_appended(ledger, path):
    ledger.reserve(pure(0.9))
    with sqlite3.connect(path) as raw:
        for statement in (
            "UPDATE entries SET basic_eps = '0'",
            "DELETE FROM entries",
            "INSERT OR REPLACE INTO entries (seq, id, hash) VALUES (1, 'x', 'y')",
            "INSERT INTO entries (seq, id, hash) VALUES (9, 'x', 'y')",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="ledger"):
                raw.execute(statement)
    raw.close()


def _edited(path, statement):
    raw = sqlite3.connect(path)
    for trigger in ("no_update", "no_delete", "append_only"):
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute(statement)
    raw.commit()
    raw.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET basic_eps = '1' WHERE seq = 1",
        "UPDATE entries SET accounts = (SELECT accounts FROM entries WHERE seq = 0) WHERE seq = 2",
        "UPDATE entries SET details = '{}' WHERE seq = 1",
        "DELETE FROM entries WHERE seq = 1",
    ],
)
def test_edits_are_found(ledger, path, statement):
    for _ in range(2):
        ledger.reserve(pure(0.2))
    assert ledger.verify() == ledger.verify()
    _edited(path, statement)
    with pytest.raises(InvalidData, match="damaged or was edited"):
        Ledger.open(path).verify()


def test_an_edited_last_entry_is_not_spent_from(ledger, path):
    ledger.reserve(pure(0.9))
    _edited(path, "UPDATE entries SET accounts = (SELECT accounts FROM entries WHERE seq = 0)")
    with pytest.raises(InvalidData, match="damaged or was edited"):
        ledger.reserve(pure(0.9))


def test_a_head_that_was_kept_finds_a_ledger_that_was_cut_short(ledger, path):
    ledger.reserve(pure(0.2))
    shutil.copy(path, path.with_suffix(".copy"))
    for suffix in ("-wal", "-shm"):
        shutil.copy(f"{path}{suffix}", f"{path.with_suffix('.copy')}{suffix}")
    ledger.reserve(pure(0.2))
    head = ledger.verify()
    ledger.reserve(pure(0.2))
    ledger.verify(head)
    with pytest.raises(InvalidData, match="cut short"):
        Ledger.open(path.with_suffix(".copy")).verify(head)


def test_the_file_holds_no_rows_no_durations_and_no_counts(ledger, path):
    with ledger.spending(noise(0.3), model="ridge"):
        pass
    raw = sqlite3.connect(path)
    rows = raw.execute("SELECT kind, details, guarantee, created FROM entries").fetchall()
    raw.close()
    kinds = [row[0] for row in rows]
    assert kinds == ["create", "reserve", "settle"]
    assert rows[1][3] == rows[2][3]  # how long a run took may depend on the rows
    assert set(json.loads(rows[1][1])) == {"model", "algorithm", "who"}
    assert not {"n_rows", "coef_", "weights"} & set(json.loads(rows[1][2]))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_refused(ledger, path):
    path.chmod(0o400)
    with pytest.raises(LedgerUnavailable, match="nothing was reserved"):
        pickle.loads(pickle.dumps(ledger)).reserve(pure(0.1))


def test_network_file_systems_are_refused(tmp_path):
    table = tmp_path / "mounts"
    place = tmp_path / "x.ledger"
    shared = str(tmp_path).replace(" ", r"\040")
    for kind in ("nfs4", "cifs", "fuse.sshfs", "9p"):
        table.write_text(f"/dev/vda / ext4 rw 0 0\nhost:/x {shared} {kind} rw 0 0\n")
        with pytest.raises(Incompatible, match=r"network file system .* PostgreSQL"):
            check_local(place, table)
    table.write_text(f"/dev/vda / nfs rw 0 0\n/dev/b {shared} ext4 rw 0 0\n")
    check_local(place, table)
    check_local(place, tmp_path / "absent")
    assert file_system(place, "a /other nfs rw\n") == ""
    assert file_system(tmp_path / "a b", "d / ext4\n" rf"h {shared}/a\040b nfs") == "nfs"


# Parts and tags.


def test_parts_are_charged_on_their_own(ledger):
    ledger.reserve(pure(0.2))
    ledger.split("position", {"train": 0.8, "test": 0.2})
    train, test = ledger.part("train"), ledger.part("test")
    for _ in range(2):
        train.reserve(pure(0.4))
    assert test.affordable(pure(0.4)).times == 2
    assert ledger.affordable(pure(0.1)).times == 0
    with pytest.raises(BudgetExceeded, match="on train"):
        ledger.reserve(pure(0.3))
    assert pickle.loads(pickle.dumps(test)) == test != train
    ledger.verify()


def test_every_row_lies_in_one_part_whatever_the_other_rows_are(ledger):
    ledger.split("position", {"a": 0.5, "b": 0.3, "c": 0.2})
    masks = [ledger.part(name).rows(4000) for name in "abc"]
    assert (np.sum(masks, axis=0) == 1).all()
    assert [mask.mean() for mask in masks] == pytest.approx([0.5, 0.3, 0.2], abs=0.04)
    assert (ledger.part("a").rows(100) == masks[0][:100]).all()
    with pytest.raises(InvalidParameter, match="all rows"):
        ledger.rows(10)


def test_parts_may_be_split_again_but_not_across(ledger):
    ledger.split("position", {"train": 0.8, "test": 0.2})
    with pytest.raises(Incompatible, match="split already"):
        ledger.split("position", {"x": 0.5, "y": 0.5})
    train = ledger.part("train")
    id = train.reserve(pure(0.5))
    train.split("position", {"one": 0.5, "two": 0.5})
    assert train.part("one").affordable(pure(0.5)).times == 1
    one, two = train.part("one").rows(500), train.part("two").rows(500)
    assert ((one | two) == train.rows(500)).all()
    assert not (one & two).any()
    train.reserve(pure(0.3))  # charged to both
    ledger.void(id)
    assert train.part("two").affordable(pure(0.1)).times == 7
    ledger.verify()


@pytest.mark.parametrize(
    ("neighbours", "unit", "by", "identifier", "allowed"),
    [
        ("zero-out", "row", "position", "record", True),
        ("replace-one", "row", "position", "record", True),
        ("add-remove", "row", "position", "record", False),
        ("add-remove", "row", "hash", "record", True),
        ("replace-one", "row", "hash", "record", False),
        ("replace-one", "row", "hash", "public", True),
        ("zero-out", "row", "hash", "record", False),
        ("zero-out", "row", "group", "record", False),
        ("replace-one", "group", "group", "record", False),
        ("replace-one", "group", "group", "public", True),
        ("zero-out", "group", "group", "record", True),
        ("add-remove", "group", "group", "record", True),
        ("zero-out", "group", "position", "record", False),
    ],
)
def test_a_neighbour_stays_in_its_part(path, neighbours, unit, by, identifier, allowed):
    ledger = Ledger.create(
        path, dataset="d", epsilon=1.0, delta=0.0, neighbours=neighbours, unit=unit
    )
    if allowed:
        ledger.split(by, {"a": 0.5, "b": 0.5}, identifier=identifier)
    else:
        with pytest.raises(Incompatible):
            ledger.split(by, {"a": 0.5, "b": 0.5}, identifier=identifier)


def test_hashed_parts_depend_on_the_identifier_alone(path):
    ledger = Ledger.create(path, dataset="d", epsilon=1.0, delta=0.0, neighbours="add-remove")
    ledger.split("hash", {"a": 0.5, "b": 0.5}, key="secret")
    part, people = ledger.part("a"), np.array([5, 7, 5, 9])
    mask = part.rows(people)
    assert mask[0] == mask[2]
    assert (part.rows(people[1:]) == mask[1:]).all()
    assert (part.rows(["x", "y"]) == part.rows(np.array(["x", "y"]))).all()
    with pytest.raises(InvalidData, match="whole numbers or texts") as error:
        part.rows([0.12345])
    assert "0.12345" not in str(error.value)
    with pytest.raises(InvalidParameter, match="one identifier"):
        part.rows(10)


@pytest.mark.parametrize(
    "parts", [{"a": 1.0}, {"a": 0.5, "b": 0.6}, {"a/b": 0.5, "c": 0.5}, {"": 0.5, "b": 0.5}, []]
)
def test_parts_have_names_and_shares(ledger, parts):
    with pytest.raises(InvalidParameter):
        ledger.split("position", parts)


def test_populations_that_share_people_are_charged_each(path):
    ledger = Ledger.create(path, dataset=["north", "south"], epsilon=1.0, delta=0.0)
    ledger.reserve(pure(0.5))
    north = ledger.tagged("north")
    north.reserve(pure(0.5))
    assert ledger.tagged("south").affordable(pure(0.1)).times == 5
    with pytest.raises(BudgetExceeded, match="on north"):
        ledger.reserve(pure(0.1))
    with pytest.raises(InvalidParameter, match="tag"):
        ledger.tagged("east")
    assert "north: 100% is spent" in str(ledger.balance())
    assert "no row is in more than one of north, south" in ledger.guarantee().assumptions
    ledger.verify()
