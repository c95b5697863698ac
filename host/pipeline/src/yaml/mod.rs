//! YAML as BOSH reads and writes it (gopkg.in/yaml.v2), with positions.
