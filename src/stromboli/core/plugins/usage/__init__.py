"""usage: prefer nodes with little measured load, and exclude nodes above a limit."""
