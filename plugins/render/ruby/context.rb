# `self` of a template.

# The renderer's own. Templates cannot get at it: a call takes the constant away before it evaluates anything (`glue.rs`), and `sealed.rb`
# closes the other ways.
module Boson; end

module Bosh
  module Common
    module Template
      class EvaluationContext
        include PropertyReader

        attr_reader :name, :index

        # The structs of the spec list their keys as `methods(false)`, an idiom of old templates.
        class BackCompatOpenStruct < OpenStruct
          # Members become structs on first access: most templates never use nearly all of the context.
          def postpone!(name, &make)
            @postponed = (@postponed || {}).merge(name => make)
            @table[name] = nil
            define_singleton_method(name) do
              settle!
              @table[name]
            end
          end

          %i[[] []= == dig delete_field each_pair encode_with eql? freeze hash inspect marshal_dump table to_h to_s].each do |look|
            define_method(look) do |*args, &block|
              settle!
              super(*args, &block)
            end
          end

          def methods(regular = true)
            regular ? super : marshal_dump.keys.map(&:to_sym)
          end

          private

          def settle!
            waiting, @postponed = @postponed, nil
            waiting&.each { |name, make| @table[name] = make.call }
          end

          def initialize_copy(original)
            original.to_h
            super
          end
        end

        # What `if_p` and `if_link` give when they did not yield.
        class ActiveElseBlock
          def initialize(context)
            @context = context
          end

          def else = yield

          def else_if_p(*names, &block) = @context.if_p(*names, &block)

          def else_if_link(name, &block) = @context.if_link(name, &block)
        end

        # What they give when they did.
        class InactiveElseBlock
          def else; end

          def else_if_p(*) = self

          def else_if_link(_name) = self
        end

        # `properties` and `links` of the spec are borrowed; the rest is the context's own.
        def initialize(spec, properties = nil, links = nil)
          unless spec.is_a?(Hash)
            raise EvaluationFailed,
                  "Invalid spec provided for template evaluation context, Hash expected, #{spec.class} given"
          end

          @name = spec['name']
          @index = spec['index']
          @stated = spec
          @borrowed = { 'properties' => properties, 'links' => links }
        end

        # Copied whole only here: most templates ask for some by name.
        def raw_properties
          @raw_properties ||= @borrowed['properties'].whole
        end

        # As structs, made when asked for: many templates never do.
        def spec
          @spec ||= spec_struct(@stated)
        end

        # As structs, too.
        def properties
          @properties ||= to_struct(raw_properties, OpenStruct)
        end

        def link(name)
          content = @borrowed['links'].lookup(name)
          raise UnknownLink.new(name) unless content&.key?('instances')

          to_link(content)
        end

        def if_link(name)
          content = @borrowed['links'].lookup(name)
          return ActiveElseBlock.new(self) unless content&.key?('instances')

          yield to_link(content)
          InactiveElseBlock.new
        end

        private

        def own_property(name) = @borrowed['properties'].lookup(name)

        # Makes the instance variables that BOSH's context has, for templates that may read them.
        def settle
          raw_properties
          @links = @borrowed['links'].whole
        end

        def spec_struct(spec)
          later = spec.slice('properties', 'links')
          # They keep their places among the keys.
          struct = to_struct(spec.merge(later.transform_values { nil }), BackCompatOpenStruct)
          later.each do |name, value|
            struct.postpone!(name.to_sym) { to_struct(value && @borrowed[name].whole, BackCompatOpenStruct) }
          end
          struct
        end

        # A manual link that gives only an address has `instances: null`: a link without instances.
        def to_link(content)
          EvaluationLink.new(content['instances'].nil? ? content.merge('instances' => []) : content)
        end

        # A key that is no name (YAML has `7: x`) has no place in a struct: `p` finds it, `properties` does not. BOSH gives up
        # on the whole job with an error that names neither the key nor a template.
        def to_struct(value, kind)
          case value
          when Hash
            table = {}
            value.each { |key, member| table[key.to_sym] = to_struct(member, kind) if key.is_a?(String) }
            kind.over(table)
          when Array then value.map { |item| to_struct(item, kind) }
          else value
          end
        end
      end

      # The class above is the stock; a template gets a new subclass under the public name, so that methods, classes and constants it defines vanish
      # with it. Defined twice with different bodies they would break each other. No template may change the stock, which is the superclass of all.
      stock = EvaluationContext.freeze

      # Makes the class for the next context; the renderer alone can call it. It stands here because constants of a template are
      # looked up from here.
      ::Boson.const_set(:RENEW_CONTEXT_CLASS, lambda do
        remove_const(:EvaluationContext)
        const_set(:EvaluationContext, Class.new(stock))
        # As text, or `def` and `class` of a template would land in this module: they go where this binding is made.
        EvaluationContext.class_eval('def get_binding = binding', __FILE__, __LINE__)
        EvaluationContext
      end)
    end
  end
end
