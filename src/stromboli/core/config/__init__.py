"""The configuration file, plugin options, the registry, extension points and their combining rules."""
