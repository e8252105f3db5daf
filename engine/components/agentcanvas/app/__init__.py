"""AgentCanvas's package name. Its submodules hold our objects under AgentCanvas's names."""
