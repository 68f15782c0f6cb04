"""Small mixes, and loops around them."""

from __future__ import annotations

import itertools
import json
from collections import deque

import rota
from rota.mixing import Mix

SIZES = {"a": 37, "b": 11, "c": 5}
DATA = {task: [1000 * k + row for row in range(size)] for k, (task, size) in enumerate(SIZES.items())}
NAMES = list(DATA)


def bandit():
    return rota.Exp3S(NAMES, eta=0.3)


def make(policy=None, data=DATA, **options):
    return Mix(data, policy or bandit(), **{"batch_size": 4, "seed": 3, **options})


def loss_of(rows):
    """What a model would say of these rows; learning would lower it, which nothing here needs."""
    return sum(rows) % 97 / 97


def read_ahead(batches, ahead):
    """What a loader does that fetches so many batches before the one that it hands out is trained on."""
    fetched, batches = deque(), iter(batches)
    fetched.extend(itertools.islice(batches, ahead))
    while True:
        fetched.extend(itertools.islice(batches, 1))
        if not fetched:
            return
        yield fetched.popleft()


def rows_in(mix, batch):
    return [mix.dataset[index] for index in batch]


def trained(mix, batches, ahead=0):
    """Train on so many batches, as a loop with a loader does; the tasks and rows of each."""
    return changed(mix, batches, {}, ahead)


def changed(mix, batches, changes, ahead=0, seen=0):
    """Train on so many batches, and change the sources after some of them: by number of batches, what is done."""
    found = []
    while len(found) < batches:
        for batch in read_ahead(mix, ahead):
            rows = rows_in(mix, batch)
            found.append((mix.current.task, rows))
            mix.tell(loss_of(rows))
            for do in changes.get(seen + len(found), ()):
                do(mix)
            if len(found) == batches:
                break
    return found


def saved(mix):
    """Through JSON and back, as every host keeps it."""
    return json.loads(json.dumps(mix.state_dict()))
