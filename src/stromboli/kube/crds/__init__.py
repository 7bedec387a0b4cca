"""Custom resource definitions of Volcano's kinds and of Stromboli's own."""
