"""Past evictions, and what follows from them: who is protected from whom, and when preemptions pause."""
