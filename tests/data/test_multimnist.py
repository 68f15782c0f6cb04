"""MultiMNIST: the files are read or refused, the pictures follow the rule, no digit is in two splits."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from rota.data._multimnist import FILES, SEED, SHIFT, SIDE, PictureRows, _parsed, load_multimnist, overlay
from rota.data._safe_files import unpacked
from rota.errors import RotaError
from rota.seeds import generator
from rota.tasks import check_tasks, limit_rows, sample_rows


def idx(array):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def read_idx(path):
    return _parsed(path, unpacked(path))


def contents(train=60, test=20):
    """Four small idx files. Picture k has the label k mod 10 and is a square of brightness k + 1."""
    made = []
    for start, count in ((0, train), (train, test)):
        pictures = np.zeros((count, SIDE, SIDE), dtype=np.uint8)
        pictures[:, 4:24, 4:24] = (np.arange(start, start + count) + 1)[:, None, None]
        made += [idx(pictures), idx((np.arange(start, start + count) % 10).astype(np.uint8))]
    return dict(zip(FILES, made, strict=True))


def write(folder, files, packed=True):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / (name + ".gz" if packed else name)
        path.write_bytes(gzip.compress(content) if packed else content)
    return folder


@pytest.fixture
def small(tmp_path):
    return {task.name: task for task in load_multimnist(write(tmp_path / "mnist", contents()).parent)}


def everything(task, split):
    return task.splits[split].batch(np.arange(task.size(split)))


def test_digits_stand_in_their_corners_and_the_brighter_pixel_wins():
    first, second = np.zeros((2, 1, SIDE, SIDE), dtype=np.uint8)
    first[0, :, :], second[0, :, :] = 100, 200
    canvas = np.zeros((36, 36))
    for y in range(36):
        for x in range(36):
            upper = 100 if y < 28 and x < 28 else 0
            lower = 200 if 6 <= y < 34 and 6 <= x < 34 else 0
            canvas[y, x] = max(upper, lower)
    places = [math.floor((k + 0.5) * 36 / 28) for k in range(28)]  # the pixel in whose square the new one's middle is
    expected = canvas[np.ix_(places, places)]
    made = overlay(first, second)
    assert made.dtype == np.uint8
    assert made.shape == (1, 28, 28)
    assert made[0].tolist() == expected.tolist()
    assert made[0, 0, 0] == 100  # far from the second digit
    assert made[0, 25, 25] == 200  # the first one is darker or absent
    assert made[0, 27, 27] == 0  # the canvas goes on where no digit reaches
    assert made[0, 0, 27] == 0


def test_a_darker_digit_below_does_not_hide_a_brighter_one_above():
    first, second = np.zeros((2, 1, SIDE, SIDE), dtype=np.uint8)
    first[0, 14:16, 14:16], second[0, 14 - SHIFT : 16 - SHIFT, 14 - SHIFT : 16 - SHIFT] = 240, 40
    alone = overlay(first, np.zeros_like(second))
    assert overlay(first, second).tolist() == alone.tolist()
    assert alone.max() == 240


def test_both_tasks_show_the_same_pictures_in_the_same_memory(small):
    assert list(small) == ["multimnist-tl", "multimnist-br"]
    one, other = small.values()
    for split, size in (("train", 50), ("dev", 10), ("test", 20)):
        assert one.size(split) == other.size(split) == size
        assert everything(one, split).inputs["image"].equal(everything(other, split).inputs["image"])
    pointers = {task.splits["train"]._pictures.data_ptr() for task in small.values()}
    assert len(pointers) == 1
    assert one.kind.classes == other.kind.classes == 10
    assert one.inputs.side == 28
    check_tasks(small.values())


def test_every_picture_is_top_left_once_and_its_partner_is_of_its_split(small):
    order = generator(SEED, "multimnist", "split").permutation(60)
    sources = {"train": set(order[10:].tolist()), "dev": set(order[:10].tolist()), "test": set(range(60, 80))}
    assert not sources["train"] & sources["dev"]
    seen = {}
    for split, own in sources.items():
        batch = everything(small["multimnist-tl"], split)
        image = (batch.inputs["image"][:, 0] * 255).round().int()
        # The middle of what only one of the two digits covers (see `contents`): its brightness says which one it is.
        upper, lower = image[:, 5, 5] - 1, image[:, 21, 21] - 1
        assert sorted(upper.tolist()) == sorted(own)
        assert upper.tolist() == sorted(upper.tolist())
        assert set(lower.tolist()) <= own
        assert (upper % 10).equal(batch.labels.int())
        assert (lower % 10).equal(small["multimnist-br"].splits[split].labels().int())
        seen[split] = set(upper.tolist()) | set(lower.tolist())
    assert not seen["train"] & seen["dev"]


def test_rows_are_the_same_every_time_packed_or_not(tmp_path, small):
    again = {task.name: task for task in load_multimnist(write(tmp_path / "flat", contents(), packed=False))}
    for name, task in small.items():
        one, other = everything(task, "train"), everything(again[name], "train")
        assert one.inputs["image"].equal(other.inputs["image"])
        assert one.labels.equal(other.labels)
        assert task.notes == again[name].notes
    joined = b"".join(contents()[name] for name in FILES)
    assert small["multimnist-tl"].notes == {"content": hashlib.sha256(joined).hexdigest()}


def test_a_batch_is_a_number_from_0_to_1_per_pixel_in_the_order_asked_for():
    pictures = torch.tensor([0, 51, 255], dtype=torch.uint8)[:, None, None].expand(3, 2, 2).contiguous()
    rows = PictureRows(pictures, torch.tensor([7, 8, 9]))
    batch = rows.batch(np.array([2, 1]))
    assert batch.inputs["image"].dtype == torch.float32
    assert batch.inputs["image"].shape == (2, 1, 2, 2)
    assert batch.inputs["image"][:, 0, 0, 0].tolist() == [1.0, pytest.approx(0.2)]
    assert batch.labels.tolist() == [9, 8]
    assert rows.lengths() is None
    assert rows.side == {}
    assert len(rows) == 3


def test_a_sample_is_always_the_same(small):
    rows = small["multimnist-tl"].splits["train"]
    one, other = sample_rows(rows, 12), sample_rows(rows, 12)
    assert len(one) == 12
    assert one.labels().equal(other.labels())
    limited = limit_rows(small.values(), {"multimnist-tl": 12})
    assert [task.size() for task in limited] == [12, 50]


@pytest.mark.parametrize("packed", [True, False])
def test_idx_files_are_read(tmp_path, packed):
    array = np.arange(24).reshape(2, 3, 4)
    path = tmp_path / "numbers"
    path.write_bytes(gzip.compress(idx(array)) if packed else idx(array))
    assert read_idx(path).tolist() == array.tolist()


GOOD = idx(np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x89PNG\r\n", r"should be an idx file of unsigned bytes.* Found 89 50 4e 47\."),
        (b"\x00\x00\x0d\x01" + bytes(4), r"Found 00 00 0d 01\."),
        (b"\x00\x00\x08\x00", r"Found 00 00 08 00\."),
        (b"\x00\x00", r"Found 00 00\."),
        (b"", r"Found an empty file\."),
        (GOOD[:-2], r"should have 18 bytes for 2 x 3 numbers, as its header says\. Found 16\."),
        (GOOD[:7], r"Found 7\."),
        (GOOD + b"x", r"Found 19\."),
        (gzip.compress(GOOD, mtime=0)[:-9], r"expected a whole gzip file\. Found a damaged one"),
        (b"\x1f\x8b rest of a page", r"expected a whole gzip file\. Found a damaged one"),
        (gzip.compress(GOOD, mtime=0)[:12] + b"\xff" * 20, r"expected a whole gzip file\. Found a damaged one"),
    ],
)
def test_what_is_no_idx_file_is_refused_with_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(RotaError, match=sentence) as refusal:
        read_idx(path)
    assert str(path) in str(refusal.value)


def test_a_missing_idx_file_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(RotaError, match=r"Expected a file at .*nowhere\. Found none\."):
        read_idx(tmp_path / "nowhere")


def test_missing_files_are_named_with_every_place_that_was_searched(tmp_path):
    files = contents()
    del files["t10k-labels-idx1-ubyte"]
    write(tmp_path, files)
    with pytest.raises(RotaError, match="expects the four files of MNIST") as refusal:
        load_multimnist(tmp_path)
    said = str(refusal.value)
    for home in (tmp_path, tmp_path / "mnist"):
        for end in (",", ".gz"):
            assert f"{home / 't10k-labels-idx1-ubyte'}{end}" in said
    assert str(tmp_path / "train-images-idx3-ubyte") not in said


@pytest.mark.parametrize(
    ("name", "array", "sentence"),
    [
        (FILES[1], np.zeros(59), r"one label for each of the 60 pictures in .* Found an array of \[59\]\."),
        (FILES[1], np.zeros((60, 1)), r"Found an array of \[60, 1\]\."),
        (FILES[3], np.full(20, 10), r"should hold digits from 0 to 9\. Found 10\."),
        (FILES[2], np.zeros((20, 8, 8)), r"should hold pictures of 28 x 28\. Found an array of \[20, 8, 8\]\."),
    ],
)
def test_files_that_do_not_belong_together_are_refused(tmp_path, name, array, sentence):
    with pytest.raises(RotaError, match=sentence) as refusal:
        load_multimnist(write(tmp_path, {**contents(), name: idx(array)}))
    assert name in str(refusal.value)


def test_the_real_files_make_the_data_set_of_the_paper():
    folder = os.environ.get("ROTA_DATA")
    if not folder:
        pytest.skip("ROTA_DATA names no folder with the files of MNIST")
    start = time.process_time()
    tasks = load_multimnist(Path(folder))
    assert time.process_time() - start < 30
    for task in tasks:
        assert [task.size(split) for split in ("train", "dev", "test")] == [50_000, 10_000, 10_000]
        counts = torch.bincount(task.splits["train"].labels(), minlength=10)
        assert counts.min() > 4000
        assert counts.max() < 6500
    one, other = (task.splits["test"].labels() for task in tasks)
    assert (one == other).float().mean().item() == pytest.approx(0.1, abs=0.015)  # partners are drawn independently
    image = tasks[0].splits["dev"].batch(np.arange(1000)).inputs["image"]
    assert image.min() == 0
    assert 0.9 < image.max() <= 1
    assert 0.1 < image.mean() < 0.3
