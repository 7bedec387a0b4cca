"""Objects as people write them: files, YAML, and what is wrong with them in words."""
