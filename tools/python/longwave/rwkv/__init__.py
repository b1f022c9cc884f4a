"""Published files of RWKV-7: docs/huggingface.md."""
