# What `link` and `if_link` give.

module Bosh
  module Common
    module Template
      # One instance of the providing group.
      class EvaluationLinkInstance
        include PropertyReader

        attr_reader :name, :index, :id, :az, :address, :properties, :bootstrap

        def initialize(instance)
          @name, @index, @id, @az, @address, @properties, @bootstrap =
            instance.values_at('name', 'index', 'id', 'az', 'address', 'properties', 'bootstrap')
        end

        private

        def own_property(name) = lookup_property(@properties, name)
      end

      # A link: the provider's exposed properties and its instances.
      class EvaluationLink
        include PropertyReader

        attr_reader :properties

        def initialize(content)
          @content = content
          @properties = content['properties']
          @has_address = content.key?('address')
          @address = content['address']
        end

        # Made when asked for: templates call `link` in a loop over the instances of that very link.
        def instances
          @instances ||= @content['instances'].map { |instance| EvaluationLinkInstance.new(instance) }
        end

        # The address that the link's content brings. The criteria choose among instances in BOSH's DNS; we have one name for
        # all of them.
        def address(criteria = {})
          raise NotImplementedError, 'link.address requires bosh director' unless @has_address

          # A template that passes no Hash fails in BOSH too.
          criteria.merge({})
          @address
        end

        private

        def own_property(name) = lookup_property(@properties, name)
      end
    end
  end
end
