"""Tables are read to the letter, and wrong ones are refused with file, line, expected and found."""

from __future__ import annotations

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_tools import assert_refuses, jsonl, tsv, write

from rota.data._files import FORMATS, Record, Tally, json_file, read_tsv, reader_for

ROWS = [{"text": "the cat", "label": "good"}, {"text": "a dog", "label": "bad"}]


def read(path, **options):
    tally = Tally()
    records = list((read_tsv(**options) if options else reader_for(path))(path, tally))
    return [dict(record.fields) for record in records], [record.where for record in records], tally.counts


def fields(folder, name, content, **options):
    return read(write(folder, {name: content}) / name, **options)[0]


CONTENTS = {
    "rows.tsv": "text\tlabel\nthe cat\tgood\na dog\tbad\n",
    "rows.csv": 'text,label\n"the cat",good\na dog,bad\n',
    "rows.jsonl": jsonl(*ROWS),
    "lines.json": jsonl(*ROWS),
    "array.json": json.dumps(ROWS, indent=1),
    "rows.tsv.gz": "text\tlabel\nthe cat\tgood\na dog\tbad\n",
    "rows.jsonl.gz": jsonl(*ROWS),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_format_reads_the_same_rows(tmp_path, name):
    assert fields(tmp_path, name, CONTENTS[name]) == ROWS


def test_parquet_reads_the_same_rows(tmp_path):
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    found, where, _ = read(tmp_path / "rows.parquet")
    assert found == ROWS
    assert where == [f"{tmp_path / 'rows.parquet'}, row {k}" for k in (1, 2)]


@pytest.mark.parametrize("name", CONTENTS)
def test_windows_line_ends_a_mark_at_the_beginning_and_empty_lines_change_nothing(tmp_path, name):
    content = CONTENTS[name].replace("\n", "\r\n").encode()
    assert fields(tmp_path, name, b"\xef\xbb\xbf" + content + b"\r\n\r\n") == ROWS


@pytest.mark.parametrize("name", CONTENTS)
def test_the_last_line_needs_no_end(tmp_path, name):
    assert fields(tmp_path, name, CONTENTS[name].rstrip("\n")) == ROWS


def test_records_know_their_lines(tmp_path):
    write(tmp_path, CONTENTS | {"two.csv": 'text,label\n"the\ncat",good\na dog,bad\n'})
    assert read(tmp_path / "rows.tsv")[1] == [f"{tmp_path / 'rows.tsv'}, line {k}" for k in (2, 3)]
    assert read(tmp_path / "rows.jsonl")[1] == [f"{tmp_path / 'rows.jsonl'}, line {k}" for k in (1, 2)]
    assert read(tmp_path / "array.json")[1] == [f"{tmp_path / 'array.json'}, entry {k}" for k in (1, 2)]
    assert read(tmp_path / "two.csv")[1] == [f"{tmp_path / 'two.csv'}, line {k}" for k in (3, 4)]


@pytest.mark.parametrize("odd", ["a\rb", "a\u2028b", "a\x85b", "a\x0bb", "a\x1cb", "a\xa0b", '"a', 'a"b"', "'"])
def test_odd_characters_inside_a_cell_stay(tmp_path, odd):
    assert fields(tmp_path, "a.tsv", f"text\tlabel\n{odd}\tgood\n") == [{"text": odd, "label": "good"}]
    assert fields(tmp_path, "a.jsonl", f'{{"text": {json.dumps(odd, ensure_ascii=False)}}}\n') == [{"text": odd}]
    quoted = odd.replace('"', '""')
    assert fields(tmp_path, "a.csv", f'text,label\n"{quoted}",good\n') == [{"text": odd, "label": "good"}]


@given(st.lists(st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))] * 2)))
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("one", "two"), *(row for row in rows if row != ("one", "two"))])
    expected = [{"one": a, "two": b} for a, b in rows if (a, b) != ("one", "two")]
    assert read(path)[0] == expected


def test_a_passage_may_be_longer_than_the_csv_module_usually_allows(tmp_path):
    assert fields(tmp_path, "a.csv", f'text,label\n"{"x" * 200_000}",1\n')[0]["label"] == "1"


def test_an_empty_line_is_a_row_where_there_is_only_one_column(tmp_path):
    assert fields(tmp_path, "a.tsv", "text\none\n\ntwo\n") == [{"text": "one"}, {"text": ""}, {"text": "two"}]


def test_tables_without_a_header_are_told_their_columns(tmp_path):
    content = tsv(["gj04", 1, "", "the cat"], ["gj04", 0, "*", "cat the"])
    found = fields(tmp_path, "a.tsv", content, columns=("", "label", "", "text"))
    assert found == [{"label": "1", "text": "the cat"}, {"label": "0", "text": "cat the"}]


def test_columns_of_a_header_can_get_other_names(tmp_path):
    assert fields(tmp_path, "a.tsv", "Quality\tx\n1\t2\n", rename={"Quality": "label"}) == [{"label": "1", "x": "2"}]


def test_more_cells_are_fine_only_where_that_is_said(tmp_path):
    content = tsv(["a", "b"], ["1", "2", "3"])
    assert fields(tmp_path, "a.tsv", content, ragged=True) == [{"a": "1", "b": "2"}]
    with assert_refuses("a.tsv, line 2: expected 2 columns. Found 3."):
        fields(tmp_path, "a.tsv", content)


def test_broken_lines_are_counted_where_they_are_known_of(tmp_path):
    path = write(tmp_path, {"a.tsv": tsv(["a", "b"], ["1"], ["1", "2"], ["3"])}) / "a.tsv"
    found, _, counts = read(path, broken="broken lines")
    assert found == [{"a": "1", "b": "2"}]
    assert counts == {"broken lines": 2}
    with assert_refuses("a.tsv, line 2: expected 2 columns. Found 1."):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("a.tsv", "text\tlabel\ttext\nx\ty\tz\n", ["line 1", "each column once", "Found twice: 'text'"]),
        ("a.csv", "text,,\nx,y,z\n", ["line 1", "each column once", "Found twice: ''"]),
        ("a.tsv", "text\tlabel\nx\ty\ntext\tlabel\n", ["line 3: expected a row. Found the header again."]),
        ("a.csv", "text,label\nx,y\ntext,label\n", ["line 3: expected a row. Found the header again."]),
        ("a.csv", "text,label\nx,y,z\n", ["line 2: expected 2 columns. Found 3."]),
        ("a.csv", 'text,label\nx,"y\n', ["line 2: expected comma-separated cells", "unexpected end of data"]),
        ("a.csv", 'text,label\nx,"y"z\n', ["line 2: expected comma-separated cells"]),
        ("a.csv", "text,label\na\rb,y\n", ["line 2: expected comma-separated cells", "unquoted field."]),
        ("a.tsv", b"text\tlabel\nx\ty\nna\xefve\tz\n", ["line 3: expected UTF-8. Found the byte 0xef."]),
        ("a.csv", b"\xef\xbb\xbfte\xe9,label\nx,y\n", ["line 1: expected UTF-8. Found the byte 0xe9."]),
        ("a.jsonl", b'{"text": "\xff"}\n', ["line 1: expected UTF-8. Found the byte 0xff."]),
        ("a.jsonl", '{"text": "x"}\n{"text": "y', ["line 2: expected a JSON object", "truncated", "at column 10"]),
        ("a.jsonl", '{"text": "x"}\n["y"]\n', ["line 2: expected a JSON object. Found ['y']."]),
        ("a.jsonl", "[" * 100_000, ["line 1: expected a JSON object. Found a damaged or truncated line"]),
        ("a.jsonl", '{"text": "x"} {"text": "y"}\n', ["line 1: expected a JSON object", "Extra data"]),
        ("a.json", '[{"text": "x"},\n{"text"', ["a.json: expected JSON. Found a damaged or truncated file", "line 2"]),
        ("a.json", '[{"text": "x"}, 3]', ["a.json, entry 2: expected a JSON object. Found 3."]),
        ("a.jsonl.gz", gzip.compress(jsonl(*ROWS).encode(), mtime=0)[:-12], ["expected a whole gzip file"]),
        ("a.parquet", "PAR1 but not really", ["a.parquet: expected a whole Parquet file. Found: "]),
        ("a.parquet", "", ["a.parquet: expected a whole Parquet file. Found: "]),
        ("a.xls", "", ["Expected a file that ends in .tsv, .csv, .jsonl, .json, .parquet. Found "]),
    ],
)
def test_wrong_files(tmp_path, name, content, parts):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with assert_refuses(path, *parts):
        read(path)


def test_gzip_that_is_none(tmp_path):
    (tmp_path / "a.jsonl.gz").write_text("{}")
    with assert_refuses(tmp_path / "a.jsonl.gz", "expected a whole gzip file. Found a damaged one"):
        read(tmp_path / "a.jsonl.gz")


@pytest.mark.parametrize("suffix", FORMATS)
def test_folders_and_missing_files(tmp_path, suffix):
    (tmp_path / f"folder{suffix}").mkdir()
    with assert_refuses(tmp_path / f"folder{suffix}", "xpected a"):
        read(tmp_path / f"folder{suffix}")
    with assert_refuses(tmp_path / f"absent{suffix}", "xpected a", "Found: "):
        read(tmp_path / f"absent{suffix}")


def test_parquet_with_a_column_twice(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with assert_refuses(tmp_path / "a.parquet", "expected each column once", "Found twice: 'a'"):
        read(tmp_path / "a.parquet")


def test_json_files_say_where_they_break(tmp_path):
    path = write(tmp_path, {"a.json": '{"data":\n [1, 2'}) / "a.json"
    with assert_refuses(path, "expected JSON. Found a damaged or truncated file", "line 2"):
        json_file(path)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ({"other": "x"}, "here: expected a column 'text'. Found other."),
        ({}, "here: expected a column 'text'. Found none."),
        ({"text": None}, "here: expected a value in column 'text'. Found none."),
        ({"text": 5}, "here: expected a text in column 'text'. Found 5."),
        ({"text": list(range(99))}, "here: expected a text in column 'text'. Found [0, 1, 2"),
        ({"text": " \t"}, "here: expected a text in column 'text'. Found an empty one."),
        ({"text": "\ud800"}, "here: expected Unicode in column 'text'. Found half a character."),
    ],
)
def test_fields_that_are_no_texts(content, part):
    with assert_refuses(part):
        Record(content, "here").text("text")


def test_empty_texts_are_fine_where_that_is_said():
    assert Record({"text": ""}, "here").text("text", may_be_empty=True) == ""
