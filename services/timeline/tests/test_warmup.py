from __future__ import annotations

import subprocess
import sys

# In a process of its own: here, other tests have had things compiled.
SCRIPT = """
import pkgutil, importlib
import numpy as np
from numba.core.dispatcher import Dispatcher
from penstock.delivery.numbers import packed
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery, Post, Spread, Withdrawal
from penstock.timelines import store
from penstock.timelines.store import Partition, Shape
from penstock.timelines.warmup import warm_up

def compiled():
    names = [found.name for found in pkgutil.iter_modules(store.__path__, store.__name__ + ".")]
    modules = [importlib.import_module(name) for name in names]
    return {(name, signature) for module in modules for name, function in vars(module).items()
            if isinstance(function, Dispatcher) for signature in function.signatures}

warm_up()
before = compiled()
assert before
partition = Partition(0, Shape(800, 200, 1, 8), 2**62)
readers = packed(np.arange(1, 100, dtype=np.uint64))
posts = [Post(id=f"post {number}", author="ann", time_us=number, number=number) for number in range(1, 50)]
spread = Spread(posts=range(len(posts)), readers=readers)
changes = [
    AuthorChanges(author="ann", followed=readers, posts=posts, spread=[spread]),
    AuthorChanges(author="ann", posts=posts[:1], spread=[Spread(posts=[0], outbox=True)]),
    AuthorChanges(author="ann", withdrawn=[Withdrawal(posts=packed(np.array([7], np.uint64)), readers=readers)]),
    AuthorChanges(author="ann", unfollowed=packed(np.array([3], np.uint64))),
]
partition.watch(5)
for number, change in enumerate(changes):
    partition.apply(Delivery(epoch=4, batch=1 + number, authors=[change]).SerializeToString(), number)
    partition.changed()
slots = partition.view(5)
partition.page(5, partition.place(int(slots[3])), newer=True, limit=50)
partition.page(5, partition.place(int(slots[3])), newer=False, limit=50)
partition.is_refilling(5)
Partition.restore(partition.image(), Shape(800, 200, 1, 8), 1).digest()
print(sorted(compiled() - before))
"""


def test_deliveries_and_readers_have_nothing_to_wait_for() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, text=True)
    assert ended.stdout.strip() == "[]"
