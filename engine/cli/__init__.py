"""``evaltower``: the verbs for a shell. stdout is data, stderr is narration."""
