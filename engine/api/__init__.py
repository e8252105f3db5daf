"""REST over the verbs, and the service that a backend is: its tick, its sockets, its end and hand-over."""
