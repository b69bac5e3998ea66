"""The guests: components that come from outside the runtime."""
