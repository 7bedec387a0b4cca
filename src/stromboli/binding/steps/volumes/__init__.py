"""PersistentVolumeClaims, prepared before their pods are bound."""
