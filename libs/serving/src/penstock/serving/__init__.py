"""What our gRPC services share: settings, errors with advice, metrics of calls, health and the way they stop."""
