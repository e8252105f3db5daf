"""VLN-CE's own package: settings and data sets beside habitat's."""

import habitat
import habitat_world

habitat_world.install(habitat.get_config, "habitat_extensions")
