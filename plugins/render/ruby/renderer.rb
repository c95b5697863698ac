# Renders templates and reports errors.

module Boson
  # A message to the user; the members are those of the contract's record.
  Diagnostic = Struct.new(:severity, :code, :message, :document, :line, :help, :more, keyword_init: true)

  class Renderer
    # Codes and help by the class of an exception; the first that fits counts.
    FAILURES = [
      ['Bosh::Common::Template::UnknownProperty', 'render-unknown-property',
       'Give the property a value in the manifest or a default in the job spec, or ask with `if_p` or a second argument of ' \
       '`p`. A property that the job spec does not declare stays invisible.'],
      ['Bosh::Common::Template::UnknownLink', 'render-unknown-link',
       'The job spec must consume the link, and a job of the deployment provide it; `if_link` asks for a link that may be missing.'],
      ['SecurityError', 'render-not-allowed',
       'Templates see their properties, links and spec, and nothing else.'],
      ['SyntaxError', 'render-template-syntax', 'The template is not valid ERB: fix it in the release.'],
      ['NoMemoryError', 'render-out-of-memory', nil],
      ['Exception', 'render-template-failed', nil]
    ].freeze

    # Nearly all of a context, and few templates get at more than some of it.
    BORROWED = %w[properties links].freeze
    # Words by which a template gets at the instance variables of its context.
    LOOKING_INSIDE = %w[@raw_properties @links @borrowed instance_ inspect eval binding self].freeze
    CLASS_NAME = Module.instance_method(:name)
    private_constant :BORROWED, :LOOKING_INSIDE, :CLASS_NAME

    class << self
      # Makes the class for the next context. The snapshot has the one for the first template of a call.
      def prepare
        @context_class = RENEW_CONTEXT_CLASS.call
      end

      # A context as if no template had run before.
      def context(spec)
        prepare unless @context_class
        made, @context_class = @context_class, nil
        return made.new(spec) unless spec.is_a?(Hash)

        own = spec.to_h { |key, value| [key, BORROWED.include?(key) ? value : Borrowed.copy(value)] }
        made.new(own, *BORROWED.map { |key| Borrowed.new(spec[key] || {}) })
      end
    end

    # `context` is JSON.
    def initialize(context)
      @context = context
      @diagnostics = []
      @files = []
    end

    attr_reader :files, :diagnostics

    # Adds a file or, if the template fails, an error.
    def render(name, text)
      context = fresh_context(name) or return
      output = evaluate(context, name, text)
      if output.valid_encoding?
        @files << [name, output]
      else
        add(:error, 'render-not-text', 'The result is not UTF-8', name,
            help: 'Write binary content with Base64 or another encoding.')
      end
    rescue Exception => e # rubocop:disable Lint/RescueException -- a template may raise anything, SystemExit included
      fail(name, e)
    end

    def failed? = @diagnostics.any? { |diagnostic| diagnostic.severity == :error }

    private

    # Every template has its own context: a template that changes a property must not change it for the next one.
    def fresh_context(name)
      Renderer.context(@document ||= Document.parse(@context))
    rescue JSON::ParserError
      # Ruby's text quotes the document, which holds secrets.
      add(:error, 'render-context-invalid', 'The context is no JSON document', name)
      nil
    rescue StandardError => e
      add(:error, 'render-context-invalid', text_of(e), name)
      nil
    end

    def evaluate(context, name, text)
      look_ahead(context, text)
      source = Source.of(text)
      # The line before the first is the one that names the encoding.
      listening(name) { eval(source, context.get_binding, name, 0).to_s.dup.force_encoding(Encoding::UTF_8) }
    end

    # Creates lazy members of the context in advance: reading an instance variable does not create them, and structs of the properties must be created
    # before the template changes a property.
    def look_ahead(context, text)
      context.properties if text.match?(/\bproperties\b/)
      context.spec if text.include?('@spec')
      # One search for each word: a regular expression with all of them takes longer than most templates run.
      context.__send__(:settle) if LOOKING_INSIDE.any? { |word| text.include?(word) }
    end

    # Output of `puts` and `warn` is dropped, and the time is always the same; an info diagnostic reports this.
    def listening(name)
      stdout, stderr = $stdout, $stderr
      $stdout = $stderr = printed = StringIO.new
      Clock.asked = false
      yield
    ensure
      $stdout, $stderr = stdout, stderr
      if Clock.asked
        add(:info, 'render-clock-fixed', "The template asks for the time, which is #{Clock::NOW} in every rendering", name)
      end
      if printed.pos.positive?
        add(:info, 'render-template-printed', 'The template prints messages, which are not shown', name)
      end
    end

    def fail(name, error)
      _, code, help = FAILURES.find { |ancestor, *| error.class.ancestors.any? { |known| CLASS_NAME.bind_call(known) == ancestor } }
      add(:error, code, text_of(error), name, line: line_of(name, error), help: help, more: [['class', class_of(error)]])
    end

    def add(severity, code, message, name, line: nil, help: nil, more: [])
      @diagnostics << Diagnostic.new(severity: severity, code: code, message: message, document: name, line: line, help: help,
                                     more: more)
    end

    # The name of the exception's class, even if the class overrides it badly.
    def class_of(error) = CLASS_NAME.bind_call(error.class).to_s.scrub

    # The exception's own words, even if it overrides them badly.
    def text_of(error)
      error.to_s.dup.force_encoding(Encoding::UTF_8).scrub
    rescue Exception # rubocop:disable Lint/RescueException -- the template's own class may raise anything here too
      error.class.to_s
    end

    # The line of the innermost frame that is in the template. Ruby's compiler has no frames, but names the line.
    def line_of(name, error)
      frames = Array(error.backtrace)
      frames = [text_of(error)] if error.is_a?(SyntaxError)
      frame = frames.find { |text| text.include?(name) } or return
      frame[(frame.index(name) + name.size)..][/\A:(\d+)/, 1]&.to_i
    end
  end
end
