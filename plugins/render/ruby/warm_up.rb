# Renders once what templates usually do, so that Ruby's caches and lazily loaded parts are in the snapshot.

sample = <<~'ERB'
  <%- require 'json'
      def twice(value) = value * 2
      class Peer; end -%>
  <% if_p('a', 'b.c') do |a, c| %><%= a.to_json %> <%= JSON.pretty_generate('c' => c) %><% end.else do %>-<% end -%>
  <% if_link('db') { |l| %><%= l.address %> <%= l.instances.map(&:address).join(',') %> <%= l.p('port', 1) %><% } -%>
  <%= YAML.dump('x' => [1, nil, 'on', 1.5, true, "two\nlines"], 'spec' => spec.name) %><%= { 'a' => 1 }.to_yaml %>
  <%= IPAddr.new('10.0.0.0/8').to_range.first %> <%= URI.parse('https://a.example.com:1/x').host %> <%= twice('a').blank? %>
  <%= Shellwords.escape('a b') %> <%= Base64.strict_encode64('x') %> <%= Digest::SHA256.hexdigest('x') %>
  <%= spec.networks.marshal_dump %> <%= properties.b.c %> <%= CGI.escape('a b') %> <%= Time.now.utc.iso8601 %>
  <%= format('%05d %s', p('n'), p(%w[none n])) %> <%= "x".gsub(/x/) { |m| m.upcase } %>
ERB
context = {
  name: 'web', index: 0, networks: { default: { ip: '10.0.0.1' } }, properties: { a: [1], b: { c: 'd' }, n: 7 },
  links: { db: { address: 'db', properties: { port: 5 }, instances: [{ address: 'a', properties: nil }] } }
}.to_json

renderer = Boson::Renderer.new(context)
2.times { renderer.render('warm/up', sample) }
raise renderer.diagnostics.map(&:to_h).inspect if renderer.failed?

broken = Boson::Renderer.new(context)
["<%= p('none') %>", "<%= link('none') %>", '<%= nil.x %>', '<% if %>'].each { |text| broken.render('warm/up', text) }
raise 'broken templates render' unless broken.diagnostics.size == 4

Process.warmup
