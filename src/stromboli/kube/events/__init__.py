"""Events about objects."""
