"""The control centre: a Textual app over ``engine.control``. Only ``engine.main`` knows of it."""
