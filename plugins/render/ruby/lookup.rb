# Finding properties by dotted names, for the job itself, its links and their instances.

module Bosh
  module Common
    module Template
      module PropertyHelper
        # Walks piece by piece and stops at nil. Nothing checks that a piece is a Hash: a String gives a part of itself and an
        # Array a TypeError, and templates in use rely on both.
        def lookup_property(collection, name)
          return if collection.nil?

          name.split('.').each do |key|
            collection = collection[key]
            break if collection.nil?
          end
          collection
        end
      end

      # `p` and `if_p`. The class that includes it says in `own_properties` where to look.
      module PropertyReader
        include PropertyHelper

        # The first of the named properties that is not nil, else the second argument where there are exactly two (nil and
        # false are defaults as well).
        def p(*args)
          names = Array(args.first)
          names.each do |name|
            value = lookup_property(own_properties, name)
            return value unless value.nil?
          end
          raise UnknownProperty.new(names) unless args.size == 2

          args.last
        end

        # Yields the values if all are there. At the first that is missing it stops: the names behind it are not even looked at.
        def if_p(*names)
          found = []
          names.each do |name|
            value = lookup_property(own_properties, name)
            return EvaluationContext::ActiveElseBlock.new(self) if value.nil?

            found << value
          end
          yield(*found)
          EvaluationContext::InactiveElseBlock.new
        end
      end
    end
  end
end
