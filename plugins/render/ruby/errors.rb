# The exceptions of BOSH's template code, with BOSH's texts: they end up in front of the user, and templates rescue them.

module Bosh
  module Common
    module Template
      class EvaluationFailed < StandardError; end

      class InvalidPropertyType < StandardError; end

      # None of the properties asked for has a value.
      class UnknownProperty < StandardError
        attr_reader :name

        # An array of names, shown as Ruby shows one.
        def initialize(name)
          @name = name
          super("Can't find property '#{name}'")
        end
      end

      # No link of that name reached the job.
      class UnknownLink < StandardError
        def initialize(name)
          super("Can't find link '#{name}'")
        end
      end
    end
  end

  # The name that releases use; BOSH itself moved to the longer one.
  Template = Common::Template
end
