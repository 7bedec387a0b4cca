"""What API objects mean for the model: one module per kind."""
