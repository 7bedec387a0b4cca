"""Direct binding: workers of the scheduler bind the pods of commits."""
