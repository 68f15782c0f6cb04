"""Models as JSON and safetensors: written by one program, read by another, never executing code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from rota.errors import RotaError
from rota.models.adapters import Adapted, make_adapter
from rota.models.camtl import CAMTL, make_parts
from rota.models.core import (
    Embeddings,
    Encoder,
    FrozenLayers,
    HeadStyle,
    LeNet,
    MultiTaskModel,
    PairBiLSTM,
    SmallConv,
    TinyText,
    rebuilt,
)
from rota.models.language import LanguageModel, build_language_model
from rota.runlog import replacing, write_text
from rota.tasks import kind_from

DESCRIPTION, WEIGHTS = "model.json", "model.safetensors"


def build_any(description: dict[str, Any]) -> MultiTaskModel | LanguageModel:
    """The model of a run, with heads or without, with weights that are still to be loaded.

    >>> from rota.models import SmallConv
    >>> from rota.tasks import Classification
    >>> type(build_any(MultiTaskModel(SmallConv(side=8), {"parity": Classification(2)}).describe())).__name__
    'MultiTaskModel'
    """
    if description.get("type") == LanguageModel.__name__:
        return build_language_model(description)
    return build_model(description)


def build_model(description: dict[str, Any]) -> MultiTaskModel:
    """The model that `MultiTaskModel.describe` described, with weights that are still to be loaded.

    >>> from rota.models import SmallConv
    >>> from rota.tasks import Classification
    >>> model = MultiTaskModel(SmallConv(side=8), {"parity": Classification(2)})
    >>> build_model(json.loads(json.dumps(model.describe()))).heads["parity"].kind
    classification (2 classes)
    """
    kinds = {name: kind_from(kind) for name, kind in description["kinds"].items()}
    return MultiTaskModel(_build_encoder(description["encoder"]), kinds, HeadStyle(**description["style"]))


def save_model(model: MultiTaskModel, folder: Path | str) -> None:
    """Write `model.json` and `model.safetensors`.

    >>> import tempfile
    >>> from rota.models import SmallConv
    >>> from rota.tasks import Classification
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(MultiTaskModel(SmallConv(side=8), {"parity": Classification(2)}), folder)
    ...     list(load_model(folder).heads)
    ['parity']
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / DESCRIPTION, json.dumps(model.describe(), indent=1) + "\n")
    # Cloned: safetensors refuses tensors that share memory, such as tied weights.
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in model.state_dict().items()}
    with replacing(folder / WEIGHTS) as place:
        safetensors.torch.save_file(tensors, place, metadata={"format": "pt"})


def load_model(folder: Path | str) -> MultiTaskModel:
    """The model that `save_model` wrote, ready to answer.

    >>> import tempfile
    >>> from rota.models import SmallConv
    >>> from rota.tasks import Classification
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(MultiTaskModel(SmallConv(side=8), {"parity": Classification(2)}), folder)
    ...     load_model(folder).training
    False
    """
    folder = Path(folder)
    try:
        description = json.loads((folder / DESCRIPTION).read_text())
        weights: dict[str, Tensor] = safetensors.torch.load_file(folder / WEIGHTS)
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise RotaError(f"Expected {DESCRIPTION} and {WEIGHTS} in {folder}. Found: {error}.") from error
    model = build_model(description)
    model.load_state_dict(weights)
    return model.eval()


def _build_encoder(description: dict[str, Any]) -> Encoder:
    content = dict(description)
    match content.pop("type"):
        case "Pretrained":
            return rebuilt(**content)
        case "CAMTL":
            tasks, parts = content.pop("tasks"), make_parts(content.pop("parts"))
            frozen = content.pop("frozen")
            plain = rebuilt(**content)
            return CAMTL(plain.transformer, tasks, plain.pooling, plain.hidden, parts, frozen)
        case "Adapted":
            tasks, adapter = content.pop("tasks"), make_adapter(content.pop("adapter"))
            frozen = content.pop("frozen")
            plain = rebuilt(**content)
            return Adapted(plain.transformer, tasks, adapter, plain.pooling, plain.hidden, frozen)
        case "PairBiLSTM":
            vectors = dict(content.pop("vectors"))
            name = vectors.pop("type")
            source = Embeddings(**vectors) if name == "Embeddings" else FrozenLayers(_frozen(**vectors))
            return PairBiLSTM(source, **content)
        case "LeNet":
            return LeNet(**content)
        case "SmallConv":
            return SmallConv(**content)
        case "TinyText":
            return TinyText(**content)
        case other:
            raise RotaError(f"Expected an encoder of this library. Found {other!r}.")


def _frozen(config: dict[str, Any], pooler: bool) -> Any:
    return rebuilt(config, "first", pooler, None).transformer
