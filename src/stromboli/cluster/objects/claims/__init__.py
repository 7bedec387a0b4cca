"""Resource claims, device classes and resource slices."""
