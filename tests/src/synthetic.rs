//! Made-up inputs of any size: a manifest with ops files, and a deployment with its release. The same size gives the
//! same bytes.

use anyhow::Result;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Jobs of the release; each group takes the next three.
const JOBS: usize = 12;
/// Jobs of a group.
const JOBS_OF_A_GROUP: usize = 3;
/// Lines of [`manifest`] for one group.
const LINES_OF_A_GROUP: usize = 31;
/// Operations of an ops file of [`ops_file`].
const OPERATIONS: usize = 8;

/// Templates of a job: source, destination, ERB. The release's jobs have the first four.
pub const TEMPLATES: [(&str, &str, &str); 5] = [
    ("bpm.yml.erb", "config/bpm.yml", BPM),
    ("config.yml.erb", "config/config.yml", CONFIG),
    ("env.erb", "config/env.sh", ENVIRONMENT),
    ("pre-start.erb", "bin/pre-start", PRE_START),
    ("upstreams.json.erb", "config/upstreams.json", UPSTREAMS),
];

const BPM: &str = r##"processes:
- name: service
  executable: /var/vcap/packages/service/bin/service
  args: [--config, /var/vcap/jobs/service/config/config.yml, --port, "<%= p('service.port') %>"]
  env:
    LOG_LEVEL: <%= p('service.log_level') %>
  limits:
    memory: <%= p('service.memory') %>
<% if_p('service.scratch') do |size| -%>
  ephemeral_disk: <%= size > 0 %>
<% end -%>
"##;

const CONFIG: &str = r##"<%
  config = {
    'listen' => "0.0.0.0:#{p('service.port')}",
    'name' => spec.name,
    'first' => spec.bootstrap,
    'routes' => p('service.routes').map { |route| { 'path' => route['path'], 'to' => "#{spec.name}/#{route['to']}" } },
    'credentials' => { 'user' => p('service.user'), 'password' => p('service.password') }
  }
  if_link('upstream') do |upstream|
    config['upstream'] = { 'port' => upstream.p('service.port'), 'instances' => upstream.instances.map(&:index) }
  end
-%>
<%= YAML.dump(config) %>
"##;

const ENVIRONMENT: &str = r##"<% p('service.environment').each do |name, value| -%>
export <%= name %>=<%= Shellwords.escape(value.to_s) %>
<% end -%>
export INDEX=<%= spec.index %>
"##;

const PRE_START: &str = r##"#!/bin/bash
set -eu
<% p('service.routes').each do |route| -%>
mkdir -p /var/vcap/data/service<%= route['path'] %>
<% end -%>
"##;

const UPSTREAMS: &str = r##"<%=
  if_link('upstream') do |upstream|
    @list = upstream.instances.map { |instance| { 'index' => instance.index, 'port' => upstream.p('service.port') } }
  end
  JSON.pretty_generate(@list || [])
%>
"##;

/// The context of one instance for the templates.
pub const CONTEXT: &str = r##"{
  "deployment": "shop", "name": "front", "job": {"name": "front"}, "index": 0, "bootstrap": true,
  "id": "2f2dbb5f-2c0c-4f0c-8d0e-9d4a2c1f7a11", "az": "z1", "address": "front-0", "ip": "10.0.0.1",
  "networks": {"default": {"type": "dynamic", "ip": "10.0.0.1", "netmask": "255.255.255.0", "default": ["dns", "gateway"]}},
  "release": {"name": "shop", "version": "1.0.0"},
  "properties": {"service": {
    "port": 8080, "user": "service", "password": "made-up", "log_level": "info", "memory": "256M", "scratch": 64,
    "routes": [{"path": "/a", "to": "first"}, {"path": "/b", "to": "second"}, {"path": "/c", "to": "third"}],
    "environment": {"GREETING": "good day", "LIMIT": 10, "MODE": "production"}
  }},
  "links": {"upstream": {
    "address": "back.shop", "instance_group": "back", "properties": {"service": {"port": 9090}},
    "instances": [{"index": 0, "name": "back", "id": "a", "az": "z1", "address": "back-0", "bootstrap": true},
                  {"index": 1, "name": "back", "id": "b", "az": "z2", "address": "back-1", "bootstrap": false}]
  }}
}"##;

/// Number of groups that [`manifest`] needs for at least this many lines.
pub fn groups_for(lines: usize) -> usize {
    lines.div_ceil(LINES_OF_A_GROUP)
}

/// A manifest like those of large deployments: 31 lines for each group, with placeholders.
pub fn manifest(groups: usize) -> String {
    let mut text = head("large", "common");
    for group in 0..groups {
        let _ = write!(
            text,
            "- name: group-{group}
  azs: [z1, z2]
  instances: {instances}
  vm_type: small
  stemcell: default
  networks:
  - name: default
  jobs:
  - name: server
    release: common
    provides:
      server: {{as: server-{group}}}
    properties:
      server:
        port: {port}
        domain: group-{group}.((system_domain))
        log_level: info
        tls:
          ca: ((ca.certificate))
          certificate: ((server_{group}.certificate))
          private_key: ((server_{group}.private_key))
        users:
        - {{name: admin, password: ((admin_password))}}
        - {{name: reader, password: reader-{group}}}
  - name: agent
    release: common
    properties:
      agent:
        interval: 30
        targets: [metrics.example.com:8443, logs.example.com:6514]
        tags: {{deployment: large, group: group-{group}}}
",
            // In each of the two zones.
            instances = 2 * (1 + group % 3),
            port = 1024 + group,
        );
    }
    text
}

/// The ops file number `nth` for a [`manifest`] of `groups` groups: eight operations of several kinds, which succeed in
/// any order.
pub fn ops_file(nth: usize, groups: usize) -> String {
    let mut text = String::new();
    for step in 0..OPERATIONS {
        let group = (nth * OPERATIONS + step) % groups;
        let server = format!("/instance_groups/name=group-{group}/jobs/name=server");
        let _ = match step % 4 {
            0 => writeln!(
                text,
                "- type: replace\n  path: /instance_groups/name=group-{group}/instances\n  value: {}",
                2 * (nth + 1)
            ),
            1 => writeln!(
                text,
                "- type: replace\n  path: {server}/properties/server/limits?/connections\n  value: {}",
                100 * (nth + 1)
            ),
            2 => writeln!(
                text,
                "- type: replace\n  path: {server}/properties/server/users/-\n  value: {{name: user-{nth}, password: ((admin_password))}}"
            ),
            _ => writeln!(
                text,
                "- type: remove\n  path: {server}/properties/server/feature_{nth}?"
            ),
        };
    }
    text
}

/// Writes `manifest.yml` and `release/` below `directory`: groups of three jobs with four templates each, every job
/// linked to one of the group before.
///
/// # Errors
/// The directory cannot be written to.
pub fn write_deployment(directory: &Path, groups: usize) -> Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("manifest.yml"), deployment(groups))?;
    let places = TEMPLATES.map(|(source, destination, _)| (source, destination));
    for job in 0..JOBS {
        let folder = directory.join(format!("release/jobs/service-{job}"));
        fs::create_dir_all(folder.join("templates"))?;
        fs::write(folder.join("spec"), spec(&format!("service-{job}"), &places[..4]))?;
        fs::write(
            folder.join("monit"),
            format!("check process service-{job}\n  with pidfile /var/vcap/sys/run/bpm/service-{job}/service.pid\n"),
        )?;
        for (source, _, text) in &TEMPLATES[..4] {
            fs::write(folder.join("templates").join(source), text)?;
        }
    }
    fs::create_dir_all(directory.join("release/config"))?;
    Ok(fs::write(directory.join("release/config/final.yml"), "name: shop\n")?)
}

/// Writes `manifest.yml` and `release/` below `directory`: one group with one job, `front`, that has all [`TEMPLATES`].
/// None is a script.
///
/// # Errors
/// The directory cannot be written to.
pub fn write_job(directory: &Path) -> Result<()> {
    let folder = directory.join("release/jobs/front");
    fs::create_dir_all(folder.join("templates"))?;
    fs::create_dir_all(directory.join("release/config"))?;
    fs::write(directory.join("release/config/final.yml"), "name: shop\n")?;
    fs::write(folder.join("monit"), "")?;
    let places = TEMPLATES.map(|(source, destination, _)| match destination {
        "bin/pre-start" => (source, "config/directories.sh"),
        _ => (source, destination),
    });
    fs::write(folder.join("spec"), spec("front", &places))?;
    for (source, _, text) in TEMPLATES {
        fs::write(folder.join("templates").join(source), text)?;
    }
    let group = "- name: front
  instances: 1
  stemcell: default
  jobs:
  - name: front
    release: shop
    properties:
      service:
        password: ((password))
        routes: [{path: /orders, to: orders}, {path: /items, to: items}]
        environment: {GREETING: good day}
variables:
- {name: password, type: password}
";
    Ok(fs::write(directory.join("manifest.yml"), head("shop", "shop") + group)?)
}

fn head(name: &str, release: &str) -> String {
    format!(
        "name: {name}
releases:
- name: {release}
  version: \"1.0.0\"
  url: registry.example.com/bosh
stemcells:
- alias: default
  os: ubuntu-jammy
  version: \"1.584\"
update:
  canaries: 1
  max_in_flight: 1
  canary_watch_time: 1000-60000
  update_watch_time: 1000-60000
instance_groups:
"
    )
}

fn deployment(groups: usize) -> String {
    let mut text = head("shop", "shop");
    for group in 0..groups {
        let _ = write!(
            text,
            "- name: group-{group}\n  azs: [z1]\n  instances: {}\n  stemcell: default\n  jobs:\n",
            1 + group % 2
        );
        for nth in 0..JOBS_OF_A_GROUP {
            let job = (group * JOBS_OF_A_GROUP + nth) % JOBS;
            let before = (group + groups - 1) % groups;
            let _ = write!(
                text,
                "  - name: service-{job}
    release: shop
    provides:
      service: {{as: link-{group}-{nth}}}
    consumes:
      upstream: {{from: link-{before}-{nth}}}
    properties:
      service:
        password: ((password_{group}))
        routes:
        - {{path: /orders, to: orders-{group}}}
        - {{path: /items, to: items-{nth}}}
        environment: {{GROUP: group-{group}, GREETING: good day}}
      quarks:
        ports:
        - {{name: port-{nth}, protocol: TCP, internal: {}}}
",
                8080 + nth
            );
        }
    }
    text.push_str("variables:\n");
    for group in 0..groups {
        let _ = writeln!(text, "- name: password_{group}\n  type: password");
    }
    text
}

fn spec(job: &str, templates: &[(&str, &str)]) -> String {
    let mut text = format!("---\nname: {job}\ntemplates:\n");
    for (source, destination) in templates {
        let _ = writeln!(text, "  {source}: {destination}");
    }
    text.push_str(
        "packages: []
provides:
- name: service
  type: service
  properties: [service.port, service.user]
consumes:
- name: upstream
  type: service
  optional: true
properties:
  service.port:
    default: 8080
  service.user:
    default: service
  service.password:
    description: Password of the user
  service.log_level:
    default: info
  service.memory:
    default: 256M
  service.scratch:
    description: Size of the scratch space
  service.routes:
    default: []
  service.environment:
    default: {}
",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_the_requested_number_of_lines() {
        let lines = manifest(groups_for(3000)).lines().count();
        assert!((3000..3050).contains(&lines), "{lines}");
    }
}
