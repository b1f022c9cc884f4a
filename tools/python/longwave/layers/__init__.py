"""PyTorch layers with exactly the semantics of the Longwave engine's operators."""
