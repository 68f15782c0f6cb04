"""`rota export`: a trained model for other programs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from rota.cli._console import open_console
from rota.errors import RotaError
from rota.runlog import Run


def export(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    out: Annotated[Path, typer.Option("--out", "-o", help="new folder for the model")],
    card: Annotated[bool, typer.Option(help="write a model card beside it, README.md")] = False,
    seeds: Annotated[
        list[Path] | None, typer.Option(metavar="RUN", help="with --card: the same run with another seed; repeat it")
    ] = None,
    push: Annotated[
        str | None, typer.Option(metavar="PLACE", help="send it to the Hugging Face hub (name/of-repo) or a new folder")
    ] = None,
) -> None:
    """Write the best model of a run: model.json and model.safetensors for `rota.models.load_model`, and its encoder
    with its tokenizer in the folder `encoder`, for `transformers.AutoModel.from_pretrained`.

    rota export runs/glue -o models/glue --card --seeds runs/glue-1 --seeds runs/glue-2 --push me/glue
    """
    from rota.inference import Trained  # late: it loads torch
    from rota.report import model_card

    if seeds and not card:
        raise RotaError("--seeds expects --card, which shows their scores. Found it alone.")
    if push is not None:
        refuse_place(push)
    trained = Trained(run)
    text = model_card(trained.run, [Run(folder) for folder in seeds or ()]) if card else None
    trained.export(out, text)
    console = open_console()
    console.print(f"The model is in {out}", highlight=False, markup=False, soft_wrap=True)
    if push is not None:
        console.print(f"It was sent to {send(out, push)}", highlight=False, markup=False, soft_wrap=True)


def refuse_place(place: str) -> None:
    """Refuse what is neither the name of a repository nor a new folder, before anything is written."""
    if is_folder(place):
        if Path(place).exists():
            raise RotaError(f"--push expects a new folder, or the name of a repository. Found {place}, which is there.")
    elif place.count("/") > 1:
        raise RotaError(f"--push expects the name of a repository, such as me/model, or ./folder. Found {place}.")


def is_folder(place: str) -> bool:
    return place.startswith((".", "/", "~")) or (Path(place).parent.is_dir() and "/" not in place)


def send(folder: Path, place: str) -> str:
    """Copy a model into a folder, or send it to the hub; where it is then."""
    if is_folder(place):
        shutil.copytree(folder, Path(place).expanduser())
        return place
    from huggingface_hub import HfApi  # late: who pushes has it

    api = HfApi()
    repository = api.create_repo(place, exist_ok=True).repo_id
    return str(api.upload_folder(repo_id=repository, folder_path=folder))
