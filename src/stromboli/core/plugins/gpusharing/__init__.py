"""gpusharing: fractional GPUs, requested by pod annotation."""
