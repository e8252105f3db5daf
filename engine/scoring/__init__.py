"""An episode after its last step: what is made of what it did."""
