"""Folders of encoders that want to execute something: code of their own, pickled weights."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file

from rota.errors import RotaError
from rota.models import pretrained
from rota.pretrained import load_pretrained

CODE = """
from pathlib import Path
from transformers import BertConfig, BertModel
Path({flag!r}).touch()
class EvilConfig(BertConfig): model_type = "evil"
class EvilModel(BertModel): config_class = EvilConfig
"""


class Bomb:
    """Executes something when it is unpickled."""

    def __init__(self, flag):
        self.flag = flag

    def __reduce__(self):
        from pathlib import Path

        return Path.touch, (Path(self.flag),)


@pytest.fixture
def encoder(tiny_bert, tmp_path):
    return shutil.copytree(tiny_bert, tmp_path / "encoder")


@pytest.mark.parametrize("known", [True, False], ids=["a-known-type", "a-type-of-its-own"])
@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_beside_the_weights_is_never_executed(encoder, tmp_path, monkeypatch, file, known):
    flag = tmp_path / "executed"
    (encoder / "evil.py").write_text(CODE.format(flag=str(flag)))
    content = json.loads((encoder / file).read_text())
    names = {"AutoConfig": "evil.EvilConfig", "AutoModel": "evil.EvilModel", "AutoTokenizer": ["evil.EvilModel", None]}
    content |= {"auto_map": names} | ({} if known else {"model_type": "evil"})
    (encoder / file).write_text(json.dumps(content))
    monkeypatch.setattr(sys, "stdin", None)  # nobody is asked
    for part in ("config", "model", "tokenizer"):
        with pytest.raises(RotaError, match=rf"without code of its own in .* Found an auto_map in {file}"):
            load_pretrained(part, str(encoder))
    assert not flag.exists()


def test_pickled_weights_are_never_read(encoder, tmp_path):
    flag = tmp_path / "executed"
    weights = load_file(encoder / "model.safetensors")
    torch.save({**weights, "bomb": Bomb(str(flag))}, encoder / "pytorch_model.bin")
    (encoder / "model.safetensors").unlink()
    with pytest.raises(RotaError, match=r"Expected weights as safetensors in .* Found pytorch_model.bin, which could"):
        pretrained(str(encoder))
    assert not flag.exists()


def test_safe_weights_beside_pickled_ones_are_taken(encoder, tmp_path):
    flag = tmp_path / "executed"
    torch.save({"bomb": Bomb(str(flag))}, encoder / "pytorch_model.bin")
    pretrained(str(encoder))
    assert not flag.exists()


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "{", "[]", '"a"', "null", '{"model_type": 3}', '{"model_type": null}']
)
def test_a_damaged_description_is_a_sentence(encoder, content):
    (encoder / "config.json").write_text(content)
    with pytest.raises(RotaError):
        pretrained(str(encoder))


@pytest.mark.parametrize("content", [b"", b"\xff" * 100])
def test_damaged_weights_are_a_sentence(encoder, content):
    (encoder / "model.safetensors").write_bytes(content)
    with pytest.raises(RotaError):
        pretrained(str(encoder))
