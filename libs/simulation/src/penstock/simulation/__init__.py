"""Devices, clocks and networks of which the truth is known. Seeded: the same seed gives the same run."""

from penstock.simulation.clocks import ClockProfile, ClockSet, DeviceClocks, Oscillator, Reading
from penstock.simulation.exchanges import Exchange, SimulatedEvent, run
from penstock.simulation.networks import Network, NetworkProfile, Travel
from penstock.simulation.scenarios import SCENARIOS, Scenario, SimulatedDevice, make_device

__all__ = [
    "SCENARIOS",
    "ClockProfile",
    "ClockSet",
    "DeviceClocks",
    "Exchange",
    "Network",
    "NetworkProfile",
    "Oscillator",
    "Reading",
    "Scenario",
    "SimulatedDevice",
    "SimulatedEvent",
    "Travel",
    "make_device",
    "run",
]
