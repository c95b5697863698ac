# The time stands still (`imports.rs`): the same input gives the same files. A diagnostic reports templates that ask for it.

module Boson
  module Clock
    NOW = '2000-01-01 UTC'

    class << self
      # Whether the time was read since this was last set to false.
      attr_accessor :asked
    end

    # Makes methods of `target` take a note; `new` is one where it has no arguments.
    def self.watch(target, *methods)
      target.singleton_class.prepend(Module.new do
        methods.each do |method|
          define_method(method) do |*args, **options, &block|
            Clock.asked = true if method != :new || args.empty?
            super(*args, **options, &block)
          end
        end
      end)
    end

    watch(Time, :now, :new)
    watch(Date, :today)
    watch(DateTime, :now)
    watch(Process, :clock_gettime)
  end
end
