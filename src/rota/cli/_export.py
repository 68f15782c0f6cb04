"""`rota export`: a trained model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def export(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    out: Annotated[Path, typer.Option("--out", "-o", help="new folder for the model")],
) -> None:
    """Write the best model of a run: model.json and model.safetensors for `rota.models.load_model`, and its encoder
    with its tokenizer in the folder `encoder`, for `transformers.AutoModel.from_pretrained`.
    """
    from rota.inference import Trained  # late: it loads torch

    Trained(run).export(out)
    Console().print(f"The model is in {out}", highlight=False, markup=False, soft_wrap=True)
