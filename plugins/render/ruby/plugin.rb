# The functions of the `render` world. Each gives the bytes of its result.

module Boson
  module Plugin
    SEVERITIES = %i[error warning info].freeze
    # Of an option of a place.
    PLACE_WORDS = 11
    # The case `text` of a place.
    TEXT_PLACE = 1

    # describe: func() -> description
    def self.describe
      codes = Description::CODES.map { |texts| texts.map { |text| Memory.string(text) }.join }
      texts = [Description::NAME, Description::VERSION, Description::SETTINGS]
      texts.map { |text| Memory.string(text) }.join + Memory.list(codes) + Memory.list([])
    end

    # The words of a call: those of the request, of the context's deployment (an option), and of the rest of the context.
    CALL = %i[templates templates_size spec spec_size more more_size
              has_deployment name name_size namespace namespace_size deployment_more deployment_more_size
              settings settings_size features features_size context_more context_more_size].freeze

    # render: func(request, context) -> result<files, list<diagnostic>>
    def self.render
      # That many parameters travel in memory; the argument is their address.
      address, = Memory.words(Memory::ARGUMENTS, 1)
      call = CALL.zip(Memory.words(address, CALL.size)).to_h
      unknown = required(call)
      return failure([unknown_member(unknown)]) if unknown

      renderer = Renderer.new(Memory.text(*call.values_at(:spec, :spec_size)))
      templates = Memory.records(*call.values_at(:templates, :templates_size), 4)
      templates.each do |name, name_size, text, text_size|
        renderer.render(Memory.text(name, name_size), Memory.text(text, text_size))
      end
      renderer.failed? ? failure(renderer.diagnostics) : success(renderer)
    end

    # The name of an additional member that this plugin must know. It knows none.
    def self.required(call)
      # The discriminant of an option is one byte.
      has_deployment = call[:has_deployment] & 0xff != 0
      lists = [%i[more more_size], %i[context_more context_more_size]]
      lists << %i[deployment_more deployment_more_size] if has_deployment
      members = lists.flat_map { |list| Memory.records(*call.values_at(*list), 4) }
      members.map { |name, size, *| Memory.text(name, size) }.find { |name| name.start_with?('required-') }
    end

    def self.unknown_member(name)
      Diagnostic.new(severity: :error, code: 'render-required-member',
                     message: "The call has the member '#{name}', which this plugin does not know", more: [])
    end

    def self.success(renderer)
      files = renderer.files.map { |name, content| Memory.string(name) + Memory.string(content) }
      Memory.number(0) + Memory.list(files) + diagnostics(renderer.diagnostics) + Memory.list([])
    end

    def self.failure(all) = Memory.number(1) + diagnostics(all)

    def self.diagnostics(all) = Memory.list(all.map { |diagnostic| record(diagnostic) })

    def self.record(diagnostic)
      Memory.number(SEVERITIES.index(diagnostic.severity)) +
        Memory.string(diagnostic.code) + Memory.string(diagnostic.message) +
        place(diagnostic) + Memory.list([]) +
        Memory.option_string(diagnostic.help) + Memory.option_string(nil) + Memory.members(diagnostic.more)
    end

    # An option of a place: a line of a template. A case is as long as the longest, that of an object.
    def self.place(diagnostic)
      return Memory.number(*[0] * PLACE_WORDS) unless diagnostic.document

      Memory.number(1, TEXT_PLACE) + Memory.string(diagnostic.document) +
        Memory.option_number(diagnostic.line) + Memory.option_number(nil) + Memory.number(0, 0, 0)
    end
  end
end
