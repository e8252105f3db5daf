"""Evaltower: the control tower for agent evaluations."""
