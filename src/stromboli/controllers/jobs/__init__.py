"""The controller of Volcano Jobs: decides purely from what was observed, then writes."""
