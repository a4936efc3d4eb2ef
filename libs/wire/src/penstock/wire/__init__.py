"""Protobuf's bytes, walked and written by compiled code, for whoever handles very many events a second."""
