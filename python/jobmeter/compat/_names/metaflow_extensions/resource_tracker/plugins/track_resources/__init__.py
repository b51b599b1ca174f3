"""The name that the original's decorator has inside Metaflow."""
