# OpenStruct without two methods a member. Ruby's own defines a getter and a setter on every object; a context of a thousand
# hashes took half a second so. Where no method is in the way, `method_missing` of OpenStruct answers the same for nothing.

class OpenStruct
  DEFINE_MEMBER = instance_method(:new_ostruct_member!)
  # Whether instances have a method of that name, by name: asking Ruby for every member is half of the time.
  HIDING = Hash.new { |known, name| known[name] = method_defined?(name) || private_method_defined?(name) }
  private_constant :DEFINE_MEMBER, :HIDING

  # A struct of a hash with symbols for keys, which it takes over.
  def self.over(table)
    allocate.tap { |struct| struct.send(:take_over!, table) }
  end

  private def take_over!(table)
    @table = {}
    table.each_key { |name| new_ostruct_member!(name) }
    @table = table
  end

  # A member that hides a method (`hash`, `test`, `open`) still gets its own methods: properties have such names.
  private def new_ostruct_member!(name)
    DEFINE_MEMBER.bind_call(self, name) if HIDING[name]
  end

  # Templates ask `properties.respond_to?(:x)`.
  private def respond_to_missing?(name, all = false)
    @table&.key?(name.to_s.delete_suffix('=').to_sym) || super
  end
end
