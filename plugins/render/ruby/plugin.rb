# The functions of the `render` world. Each gives the bytes of its result.

module Boson
  module Plugin
    SEVERITIES = %i[error warning info].freeze

    # describe: func() -> description
    def self.describe
      codes = Description::CODES.map { |texts| texts.map { |text| Memory.string(text) }.join }
      texts = [Description::NAME, Description::VERSION, Description::SETTINGS]
      texts.map { |text| Memory.string(text) }.join + Memory.list(codes) + Memory.list([])
    end

    # render: func(templates: list<template>, context: json, settings: json) -> result<files, list<diagnostic>>
    def self.render
      templates, count, *context = Memory.words(Memory::ARGUMENTS, 6)
      templates = Memory.records(templates, count, 4).map do |name, name_size, text, text_size|
        [Memory.text(name, name_size), Memory.text(text, text_size)]
      end
      renderer = Renderer.new(Memory.text(*context.first(2)))
      templates.each { |name, text| renderer.render(name, text) }
      renderer.failed? ? failure(renderer) : success(renderer)
    end

    def self.success(renderer)
      files = renderer.files.map { |name, content| Memory.string(name) + Memory.string(content) }
      Memory.number(0) + Memory.list(files) + diagnostics(renderer) + Memory.list([])
    end

    def self.failure(renderer) = Memory.number(1) + diagnostics(renderer)

    def self.diagnostics(renderer) = Memory.list(renderer.diagnostics.map { |diagnostic| record(diagnostic) })

    def self.record(diagnostic)
      Memory.number(SEVERITIES.index(diagnostic.severity)) +
        Memory.string(diagnostic.code) + Memory.string(diagnostic.message) +
        Memory.option_string(diagnostic.document) + Memory.option_string(nil) + Memory.option_number(diagnostic.line) +
        Memory.option_string(diagnostic.help) + Memory.option_string(nil) + Memory.members(diagnostic.more)
    end
  end
end
