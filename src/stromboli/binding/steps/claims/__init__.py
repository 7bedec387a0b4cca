"""ResourceClaims, allocated and reserved before their pods are bound."""
