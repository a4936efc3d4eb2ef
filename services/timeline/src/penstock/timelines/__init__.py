"""The timeline service: everybody's inbox, kept by deliveries of the join, read by gRPC."""
