"""The binder: reconciles bind requests until they have succeeded or are rolled back."""
