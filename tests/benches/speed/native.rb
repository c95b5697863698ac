# What the bench compares with: one template by native Ruby, as a tool without our sandbox would render it.
#   ruby native.rb TEMPLATE CONTEXT

require 'erb'
require 'json'
require 'ostruct'
require 'shellwords'
require 'yaml'

# Reads properties by their dotted names.
module Properties
  def p(name, default = nil)
    value = find(name)
    value.nil? ? default : value
  end

  def if_p(name)
    value = find(name)
    yield value unless value.nil?
  end

  private

  def find(name) = name.split('.').reduce(@properties) { |place, key| place && place[key] }
end

# A link of the instance.
class Link
  include Properties

  attr_reader :instances

  def initialize(content)
    @properties = content['properties']
    @instances = content['instances'].map { |instance| OpenStruct.new(instance) }
  end
end

# `self` of the template.
class Context
  include Properties

  attr_reader :spec

  def initialize(spec)
    @spec = OpenStruct.new(spec)
    @properties = spec['properties']
    @links = spec['links']
  end

  def if_link(name)
    yield Link.new(@links[name]) if @links[name]
  end

  def render(text) = ERB.new(text, trim_mode: '-').result(binding)
end

template, context = ARGV.map { |file| File.read(file) }
print Context.new(JSON.parse(context)).render(template)
