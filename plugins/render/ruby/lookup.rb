# Finding properties by dotted names, for the job itself, its links and their instances.

module Bosh
  module Common
    module Template
      module PropertyHelper
        # Walks piece by piece and stops at nil. Nothing checks that a piece is a Hash: a String gives a part of itself and an
        # Array a TypeError, and templates in use rely on both.
        def lookup_property(collection, name)
          return if collection.nil?

          # No block: a call of one from C costs more than all the rest.
          keys = name.split('.')
          nth = 0
          while nth < keys.size
            collection = collection[keys[nth]]
            return if collection.nil?

            nth += 1
          end
          collection
        end
      end

      # `p` and `if_p`. The class that includes it says in `own_property` where to look.
      module PropertyReader
        include PropertyHelper

        # The first of the named properties that is not nil, else the second argument where there are exactly two (nil and
        # false are defaults as well).
        def p(*args)
          names = Array(args.first)
          nth = 0
          while nth < names.size
            value = own_property(names[nth])
            return value unless value.nil?

            nth += 1
          end
          raise UnknownProperty.new(names) unless args.size == 2

          args.last
        end

        # Yields the values if all are there. At the first that is missing it stops: the names behind it are not even looked at.
        def if_p(*names)
          found = []
          while found.size < names.size
            value = own_property(names[found.size])
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
