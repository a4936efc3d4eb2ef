"""What people write. Pure."""

from random import Random

_PLACES = (
    "At the lock", "By the weir", "On the night train", "Market hall", "Harbour", "Library", "Third platform",
    "Roof garden", "Ferry", "Old mill", "Allotment", "Bridge",
)  # fmt: skip
_REMARKS = (
    "the river is high today", "nobody about, and the light is perfect", "found a bakery that opens at five",
    "does anyone know this bird?", "second coffee, it helps", "twenty minutes late, as ever",
    "somebody plays the cello", "the herons are back", "fog so thick you can lean on it", "tickets are gone already",
    "first frost", "a dog in a raincoat", "they fixed the clock, and it is wrong again", "soup weather",
    "I can hear the turbines", "all the good apples are taken",
)  # fmt: skip
_THOUGHTS = (
    "New on the blog: sluice gates, and who opens them.",
    "Whoever left the blue umbrella: it is with me.",
    "Unpopular opinion: timetables are literature.",
    "Day three of sourdough. It moved.",
    "Looking for a used bike, any colour but white.",
    "If it rains once more I am growing gills.",
)
_THOUGHTFUL = 0.25


def text(random: Random) -> str:
    """A post."""
    if random.random() < _THOUGHTFUL:
        return random.choice(_THOUGHTS)
    return f"{random.choice(_PLACES)}: {random.choice(_REMARKS)}"


def edited(random: Random, before: str) -> str:
    """The same post, after its author had another look."""
    return f"{before} {random.choice(('(Edit: typo.)', '(Edit: it was Tuesday.)', '(Edit: found it!)'))}"
