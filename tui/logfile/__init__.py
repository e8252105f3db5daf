"""Reading a ``log.jsonl`` of any size, also while it is written. No widgets, and no Textual."""
