"""The whole stack on one machine: a supervisor, a real Kafka, their jars, and a pytest plugin."""
