"""Where things are done, from a few words such as `ray://head:10001` or `slurm:partition=gpu,time=120`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from rota.errors import RotaError, describe_mistakes, unknown_name
from rota.workers._labour import Workers
from rota.workers._packed import SHARED
from rota.workers._processes import Processes
from rota.workers._ray_cluster import RayArguments, ray_workers
from rota.workers._slurm_array import SlurmArguments, slurm_workers

HERE = "here"
"""Processes of this machine."""
RAY, SLURM = "ray", "slurm"
FORM = re.compile(r"(?P<name>[\w-]+)(?:://(?P<address>[^,]*))?(?:[:,](?P<arguments>.*))?")
Given = TypeVar("Given", bound=BaseModel)


class WorkPlace(NamedTuple):
    """Where things are done.

    Args:
        name: "here", "ray" or "slurm".
        address: Of a Ray cluster that was named.
        arguments: What else was said.

    >>> place = read_place("slurm:time=120,wait=no")
    >>> place.name, place.shared, place.waits
    ('slurm', True, False)
    """

    name: str
    address: str
    arguments: RayArguments | SlurmArguments | None

    @property
    def shared(self) -> bool:
        """Whether workers see the folder."""
        return not isinstance(self.arguments, RayArguments) or self.arguments.results == SHARED

    @property
    def waits(self) -> bool:
        """Whether the caller waits for what they do."""
        return not isinstance(self.arguments, SlurmArguments) or self.arguments.wait


@contextlib.contextmanager
def open_workers(on: str = HERE, jobs: int | None = None, gpu: bool = True, threads: int = 1) -> Iterator[Workers]:
    """Workers that are ready to begin; what cannot work is refused before anything is done.

    Args:
        on: `here`: processes of this machine. `ray`: the Ray cluster that this machine is part of (or `$RAY_ADDRESS`);
            `ray://HOST:PORT`: another one. `slurm`: an array of jobs. Arguments follow: `ray:cpus=2,results=sent`,
            `ray://HOST:PORT,gpus=0.5`, `slurm:partition=gpu,time=120,gpus=1`.
        jobs: How many at a time; by default one here, as many as there is room for on Ray, all of them on SLURM.
        gpu: Whether what is done can use a GPU.
        threads: CPU threads of each, unless the arguments have `cpus`.

    >>> with open_workers(jobs=2) as workers:
    ...     workers.jobs
    2
    """
    place = read_place(on)
    if isinstance(place.arguments, RayArguments):
        if "cpus" not in place.arguments.model_fields_set:
            place.arguments.cpus = threads
        with ray_workers(place.address, place.arguments, jobs, gpu) as found:
            yield found
    elif isinstance(place.arguments, SlurmArguments):
        if place.arguments.cpus is None:
            place.arguments.cpus = threads
        yield slurm_workers(place.arguments, jobs)
    else:
        yield Processes(jobs or 1)


def read_place(on: str) -> WorkPlace:
    """What the words say.

    >>> read_place("ray://head:10001,cpus=2")[:2]
    ('ray', 'ray://head:10001')
    >>> read_place("slurm:partition=gpu,time=120").arguments.time
    120
    """
    found = FORM.fullmatch(on.strip())
    name = found["name"] if found else on
    if found is None or name not in (HERE, RAY, SLURM):
        raise unknown_name("place for --on", name, (HERE, RAY, SLURM))
    if name == HERE:
        if found["address"] is not None or found["arguments"] is not None:
            raise RotaError(f"--on here expects nothing else. Found '{on}'.")
        return WorkPlace(HERE, "", None)
    given = _pairs(found["arguments"] or "", name)
    if name == RAY:
        if found["address"] == "":
            raise RotaError("--on ray:// expects an address, such as ray://HOST:10001. Found none.")
        address = f"ray://{found['address']}" if found["address"] else ""
        return WorkPlace(RAY, address, _checked(RayArguments, given, name))
    if found["address"] is not None:
        raise RotaError(f"--on slurm expects no address, since it runs where `sbatch` is. Found '{on}'.")
    return WorkPlace(SLURM, "", _checked(SlurmArguments, given, name))


def _pairs(text: str, name: str) -> dict[str, str]:
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise RotaError(f"--on {name} expects arguments such as cpus=2. Found '{part}'.")
        found[key.strip()] = value.strip()
    return found


def _checked(model: type[Given], given: dict[str, str], name: str) -> Given:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise RotaError(f"--on {name}: {describe_mistakes(error.errors(), list(model.model_fields))}") from error
