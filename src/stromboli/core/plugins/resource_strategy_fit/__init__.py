"""resource-strategy-fit: pack some resources and spread others, and reserve scarce ones for pods that need them."""
