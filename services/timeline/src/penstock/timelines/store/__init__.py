"""Everybody's inbox in one partition of users: pure, in arrays, changed by deliveries and read by slots."""

from penstock.timelines.store.partition import Partition
from penstock.timelines.store.values import (
    IMAGE_FORMAT,
    Applied,
    Image,
    OutOfOrderError,
    Page,
    Place,
    Refill,
    Shape,
)

__all__ = ["IMAGE_FORMAT", "Applied", "Image", "OutOfOrderError", "Page", "Partition", "Place", "Refill", "Shape"]
