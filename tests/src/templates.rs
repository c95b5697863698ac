//! Made-up templates of many sizes, for the context of `synthetic`. The same count gives the same bytes.

/// Sizes of the templates of [`of_all_sizes`] in bytes: the smallest, each quartile, the largest. Taken from the test
/// suites of five releases (nats, capi, routing, uaa, bosh), without the longest tenth.
const TEMPLATE_BYTES: [usize; 5] = [50, 380, 3800, 18_400, 37_000];

/// A part of a template: some Ruby, some text, few tags, as in those releases.
const PART: &str = r##"<%
  settings = { 'listen' => "0.0.0.0:#{p('service.port')}", 'user' => p('service.user') }
  if_p('service.log_level') do |level|
    settings['log'] = { 'level' => level, 'file' => "/var/vcap/sys/log/#{spec.name}/#{spec.name}.log" }
  end
  settings['routes'] = p('service.routes').map do |route|
    { 'path' => route['path'], 'to' => "#{spec.name}/#{route['to']}", 'first' => spec.bootstrap }
  end
  unless p('service.port').between?(1, 65_535)
    raise "service.port has to be a port, not #{p('service.port')}"
  end
-%>
# Where the service listens, and what it tells about itself. The routes are checked at every start; those that are
# not needed any more are left out, and new ones come at the end, in the order in which the manifest lists them.
[service]
enabled = true
timeout = 30
retries = 5
settings = <%= settings.to_json %>
backlog = 1024
keepalive = 75
buffers = 16
compression = off
"##;

/// Different templates for [`crate::synthetic::CONTEXT`], with the sizes of real releases.
pub fn of_all_sizes(count: usize) -> Vec<String> {
    let last = TEMPLATE_BYTES.len() - 1;
    let size = |nth: usize| {
        let quarter = nth * last / count.max(1);
        let (least, most) = (TEMPLATE_BYTES[quarter], TEMPLATE_BYTES[quarter + 1]);
        least + (most - least) * (nth * last % count.max(1)) / count.max(1)
    };
    let template = |nth: usize| {
        let mut text = format!("# Template {nth}: <%= spec.name %>/<%= spec.index %>\n");
        while text.len() + PART.len() / 2 < size(nth) {
            text.push_str(PART);
        }
        text
    };
    (0..count).map(template).collect()
}
