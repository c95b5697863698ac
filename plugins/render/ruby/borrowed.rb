# A document that the templates of a call share. To parse it anew for each of them would take longer than most of them run, and one that
# changes a property must not change it for the next: what a template gets at is copied first, once, so that it sees its own changes and
# the same object each time.

module Boson
  class Borrowed
    # `tree`: nothing changes it.
    def initialize(tree)
      @tree = tree
      # Copies whose members are still shared, and the keys of those that are not.
      @partly = {}.compare_by_identity
    end

    # A copy of everything.
    def whole
      complete(root)
    end

    # What `lookup_property` finds in the copy. It walks piece by piece and stops at nil.
    def lookup(name)
      here = root
      keys = name.split('.')
      return complete(here) if keys.empty?

      last = keys.size - 1
      nth = 0
      while nth <= last
        key = keys[nth]
        value = here[key]
        return if value.nil?

        copied = @partly[here]
        if copied && !copied.key?(key)
          if nth == last
            copied[key] = true
            here[key] = value = Borrowed.copy(value)
          elsif value.is_a?(Hash)
            copied[key] = true
            here[key] = value = part(value)
          end
        end
        here = value
        nth += 1
      end
      complete(here)
    end

    def self.copy(value)
      case value
      when Hash
        copied = value.dup
        copied.each { |key, member| copied[key] = copy(member) }
        copied
      when Array then value.map { |item| copy(item) }
      when String then value.dup
      else value
      end
    end

    private

    def root
      @root ||= @tree.is_a?(Hash) ? part(@tree) : Borrowed.copy(@tree)
    end

    # A copy with the members of the original.
    def part(hash)
      copied = hash.dup
      @partly[copied] = {}
      copied
    end

    # Copies what is still shared below a value of the copy.
    def complete(value)
      return value if @partly.empty?

      copied = @partly.delete(value) or return value
      value.each { |key, member| value[key] = copied.key?(key) ? complete(member) : Borrowed.copy(member) }
      value
    end

    # No template may change it for the next.
    freeze
    singleton_class.freeze
  end
end
