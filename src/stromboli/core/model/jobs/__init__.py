"""Jobs and what is remembered about them."""
