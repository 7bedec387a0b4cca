"""Events about objects, and leases about who leads."""
