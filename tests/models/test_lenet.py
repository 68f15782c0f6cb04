"""LeNet has the shapes and sizes of the paper."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from rota.errors import RotaError
from rota.models import LeNet, MultiTaskModel, load_model, save_model
from rota.tasks import Classification, Pictures, Task


def pictures(count=3):
    return {"image": torch.rand(count, 1, 28, 28, generator=torch.Generator().manual_seed(0))}


def test_parameters_are_those_of_the_paper():
    sizes = [tuple(parameter.shape) for parameter in LeNet().parameters()]
    assert sizes == [(10, 1, 5, 5), (10,), (20, 10, 5, 5), (20,), (50, 320), (50,)]
    tasks = [Task(name, Classification(10), {}, Pictures(28)) for name in ("tl", "br")]
    model = MultiTaskModel(LeNet(), tasks)
    assert sum(parameter.numel() for parameter in model.parameters()) == 260 + 5020 + 16050 + 2 * 510
    assert model("tl", pictures()).shape == (3, 10)


def test_layers_stand_in_the_order_of_the_paper():
    torch.manual_seed(0)
    encoder = LeNet()
    w1, b1, w2, b2, w3, b3 = encoder.parameters()
    h = F.conv2d(pictures()["image"], w1, b1)
    assert h.shape[-2:] == (24, 24)
    h = h.unfold(2, 2, 2).unfold(3, 2, 2).amax((-1, -2)).clamp(min=0)
    h = F.conv2d(h, w2, b2)
    assert h.shape[-2:] == (8, 8)
    h = h.unfold(2, 2, 2).unfold(3, 2, 2).amax((-1, -2)).clamp(min=0)
    h = (h.reshape(3, 320) @ w3.T + b3).clamp(min=0)
    features = encoder(pictures())
    torch.testing.assert_close(features.rows, h)
    assert features.rows.shape == (3, encoder.width)
    assert features.tokens is None


def test_there_is_no_dropout_unless_asked_for():
    plain = LeNet().train()
    assert plain(pictures()).rows.equal(plain(pictures()).rows)
    dropping = LeNet(dropout=0.5).train()
    assert not dropping(pictures()).rows.equal(dropping(pictures()).rows)
    dropping.eval()
    assert dropping(pictures()).rows.equal(dropping(pictures()).rows)


def test_a_saved_model_answers_as_before(tmp_path):
    model = MultiTaskModel(LeNet(dropout=0.3), {"tl": Classification(10)}).eval()
    save_model(model, tmp_path)
    again = load_model(tmp_path)
    assert again("tl", pictures()).equal(model("tl", pictures()))
    assert again.describe() == model.describe()


@pytest.mark.parametrize("shape", [(2, 1, 12, 12), (2, 3, 28, 28), (1, 28, 28)])
def test_other_pictures_are_refused(shape):
    with pytest.raises(RotaError, match=r"expects pictures of shape \[N, 1, 28, 28\]\. Found \["):
        LeNet()({"image": torch.rand(shape)})
