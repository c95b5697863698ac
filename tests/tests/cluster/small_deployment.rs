//! The smallest deployment with every feature: one group with the job of the small release.

/// The parts of its manifest that differ between tests.
pub struct Small<'m> {
    /// A YAML list.
    pub variables: &'m str,
    pub instances: u32,
    /// Members of the group, a line each or several with the indentation of two.
    pub group: &'m str,
    /// Members of its agent's settings, without braces.
    pub settings: &'m str,
    /// Members of the job's property `quarks`, without braces.
    pub quarks: &'m str,
    /// The job's property `app.domain`.
    pub domain: &'m str,
}

impl Default for Small<'_> {
    fn default() -> Self {
        Self {
            variables: "[]",
            instances: 1,
            group: "",
            settings: "",
            quarks: "",
            domain: "example.com",
        }
    }
}

// === impl Small ===

impl Small<'_> {
    pub fn manifest(&self) -> String {
        let Self {
            variables,
            instances,
            group,
            settings,
            quarks,
            domain,
        } = self;
        format!(
            r#"releases:
- {{name: demo, version: "1", url: registry.example.com/demo}}
stemcells:
- {{alias: default, os: ubuntu-jammy, version: "1.1"}}
variables: {variables}
instance_groups:
- name: web
  instances: {instances}
  stemcell: default
  {group}
  env: {{bosh: {{agent: {{settings: {{{settings}}}}}}}}}
  jobs:
  - name: app
    release: demo
    properties: {{app: {{domain: {domain}}}, quarks: {{{quarks}}}}}
"#
        )
    }
}
