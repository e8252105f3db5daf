"""What AgentCanvas's nodesets import: ``app.…`` names, and each other as ``workspace.nodesets.…``."""
