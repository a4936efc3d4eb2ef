"""What every test may use: an embedded Kafka, and hypothesis without deadlines (machines are noisy)."""

from hypothesis import settings

pytest_plugins = ["penstock.embedded.pytest_plugin", "pytester"]

settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")
