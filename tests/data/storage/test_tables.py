"""Tables that are not in memory are read part by part, and say only what is public."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.data import Progress, RawBlock, StreamSource, parts_read, watching
from discreet.data.parts_read import column_of, numbers_of
from discreet.data.storage.tables import Tables, tables_of
from discreet.errors import InvalidData

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TABLE = pa.table(
    {
        "age": pa.array([30.0, 40.0, None, 50.0], pa.float32()),
        "size": pa.array([1, 2, 3, 4], pa.int16()),
        "name": ["a", "b", "c", "d"],
    }
)


def written(folder: Path, parts: int = 2) -> Path:
    for k in range(parts):
        step = -(-TABLE.num_rows // parts)
        pq.write_table(TABLE.slice(k * step, step), folder / f"{k}.parquet")
    return folder


def values(tables: Tables) -> Any:
    return np.concatenate([column_of(t, "size") for t in tables.read(["size"])]).tolist()


def test_files_folders_lists_and_data_sets_hold_the_same_rows(tmp_path: Path) -> None:
    folder = written(tmp_path)
    dataset = pytest.importorskip("pyarrow.dataset").dataset(folder)
    files = [str(folder / "0.parquet"), folder / "1.parquet"]
    for given in (folder, str(folder), files, dataset):
        tables = tables_of(given)
        assert tables is not None
        assert tables.count() == 4
        assert values(tables) == [1, 2, 3, 4]
        assert values(tables) == [1, 2, 3, 4], "and again"
        assert tables.types == {"age": "float", "size": "int16", "name": "string"}
        assert tables.short(["age", "size"])
        assert not tables.numeric(["name"])


def test_an_arrow_stream_is_read_anew_by_a_function_and_refused_as_itself() -> None:
    tables = tables_of(lambda: TABLE.to_reader(max_chunksize=3))
    assert tables is not None
    assert tables.count() == 4
    assert values(tables) == values(tables) == [1, 2, 3, 4]
    with pytest.raises(InvalidData, match="read once"):
        tables_of(TABLE.to_reader())
    with pytest.raises(InvalidData, match="not return an Arrow stream"):
        tables_of(lambda: [1, 2])


def test_what_is_in_memory_is_left_to_others() -> None:
    for given in (np.zeros((2, 2)), [[1.0]], TABLE, {"a": [1]}, None, [], object()):
        assert tables_of(given) is None


def test_files_that_are_none_are_refused_and_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="does not exist"):
        tables_of(tmp_path / "absent.parquet")
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 Jane Doe 1.75 PAR1")
    with pytest.raises(InvalidData) as error:
        tables_of(path)
    assert "Jane" not in str(error.value)
    pq.write_table(TABLE, path)
    tables = tables_of(path)
    assert tables is not None
    with pytest.raises(InvalidData, match="no column 'weight'"):
        tables.check(["age", "weight"])
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:4] + b"\xff" * (footer - 4) + whole[footer:])  # every page
    with pytest.raises(InvalidData, match="to its end"):
        values(tables)


def test_numbers_become_rows_with_missing_ones_marked() -> None:
    rows = numbers_of(TABLE, ["size", "age"], np.float32)
    assert rows.dtype == np.float32
    assert np.isnan(rows[2, 1])
    assert rows[:, 0].tolist() == [1, 2, 3, 4]
    assert rows[[0, 1, 3], 1].tolist() == [30, 40, 50]


def test_a_collection_of_dask_is_read_chunk_by_chunk() -> None:
    da, pd = pytest.importorskip("dask.array"), pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X = np.arange(20.0).reshape(10, 2)
    tables = tables_of(da.from_array(X, chunks=(3, 1)), da.from_array(X[:, 0], chunks=4))
    assert tables is not None
    assert tables.count() == 10
    assert not tables.named
    parts = list(tables.read(["x1", "y"]))
    assert np.array_equal(np.concatenate([p["x1"] for p in parts]), X[:, 1])
    assert np.array_equal(np.concatenate([p["y"] for p in parts]), X[:, 0])
    with pytest.raises(InvalidData, match="must be one too"):
        tables_of(da.from_array(X), X[:, 0])
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=3)
    tables = tables_of(frame[["a"]], frame["b"])
    assert tables is not None
    assert tables.types == {"a": "float64", "b": "float64"}
    assert tables.count() == 10
    assert np.concatenate([column_of(t, "b") for t in tables.read(["b"])]).tolist() == list(X[:, 1])


def test_progress_tells_rows_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_read, "PACE", 0.0)
    tables = Tables(lambda names: iter([{"x": np.ones(3)}, {"x": np.ones(1)}]), {}, lambda: 4)
    source = StreamSource(tables, ["x"], lambda t: RawBlock(t["x"][:, None], None, None), 1)
    seen: list[Progress] = []
    with watching(seen.append):
        list(source.blocks())
    list(source.blocks())
    assert [(p.rows, p.total) for p in seen] == [(3, 4), (4, 4)]
    assert seen[0].left == pytest.approx(seen[0].seconds / 3)
    assert seen[1].left == 0.0


@pytest.mark.parametrize("left", [3, 5])
def test_a_table_that_changes_while_it_is_read_is_refused(left: int) -> None:
    tables = Tables(lambda names: iter([{"x": np.ones(left)}]), {"x": "double"}, lambda: 4)
    source = StreamSource(tables, ["x"], lambda t: RawBlock(t["x"][:, None], None, None), 1)
    with pytest.raises(InvalidData, match="changed while it was read"):
        list(source.blocks())


def test_no_message_quotes_a_cell_of_dask_or_of_a_stream() -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"x": [0.5, 0.1], "y": [0.2, 0.3]}), 1)
    # A collection may not be what it says it is before it is computed.
    wrong = frame.map_partitions(lambda part: part.assign(x="Smith"), meta=frame._meta)
    fails = frame.map_partitions(lambda part: part.assign(x=float("Smith")), meta=frame._meta)

    def stream() -> Any:
        def batches() -> Any:
            yield TABLE.to_batches()[0]
            raise pa.ArrowInvalid("could not convert 'Smith'")

        return pa.RecordBatchReader.from_batches(TABLE.schema, batches())

    for given, names in ((wrong, ["x", "y"]), (fails, ["x"]), (stream, ["age"])):
        tables = tables_of(given)
        assert tables is not None
        with pytest.raises(InvalidData) as caught:
            [numbers_of(table, names, np.float64) for table in tables.read(names)]
        assert "Smith" not in str(caught.value)
        assert caught.value.__suppress_context__
