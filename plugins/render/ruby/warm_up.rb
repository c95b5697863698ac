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

# Variables of the top level stay, and `TOPLEVEL_BINDING` leads every template to them.
renderer = broken = nil

Process.warmup

# A call makes some thousand objects. On pages of their own they touch little memory; in the holes that the start left between
# the objects of the snapshot they would touch nearly all of it, and the host has to reset every page that a call has touched.
GC.disable
module Boson
  # Bytes of strings that just fit into the slots of each of Ruby's heaps, and how many objects of a size a call may make at least
  # before Ruby collects garbage, which costs more than most renderings.
  ROOM = { 7 => 40_000, 27 => 20_000, 67 => 8_000, 147 => 2_000, 307 => 500 }.freeze
  HOLES = ROOM.keys.each_with_index.map do |bytes, heap|
    slots = GC.stat_heap(heap)
    free = slots[:heap_eden_slots] - slots[:total_allocated_objects] + slots[:total_freed_objects]
    Array.new(free) { 'x' * bytes }
  end.freeze
  private_constant :ROOM, :HOLES
  ROOM.each { |bytes, objects| objects.times { 'x' * bytes } }
end
GC.enable
GC.start

Boson::Renderer.prepare
