# Values across the border of the component, by the canonical ABI.
#
# Reading: descriptor 0 is the module's memory (the builder's `imports` answer `pread` so). Writing: a result is a string of
# the record's bytes, with addresses of other strings in it; what is addressed must not be collected nor move before the host
# has read it, so all of it is kept.

module Boson
  module Memory
    READ = IO.instance_method(:pread)
    # Kept, because a template may redefine it.
    GENERATE = JSON.method(:generate)
    # No template finds the way into memory.
    IO.undef_method(:pread)
    KEPT = []
    WORD = 4

    # At this address the door has the arguments of the call.
    ARGUMENTS = 0

    def self.bytes(address, length) = READ.bind_call(STDIN, length, address)

    def self.words(address, count) = bytes(address, WORD * count).unpack('L<*')

    def self.text(address, length)
      length.zero? ? +'' : bytes(address, length).force_encoding(Encoding::UTF_8)
    end

    # Each record of a list as its words.
    def self.records(address, count, words_each)
      count.zero? ? [] : words(address, count * words_each).each_slice(words_each).to_a
    end

    # The bytes of an address and a length.
    def self.string(text) = [address_of(text), text.bytesize].pack('L<2')

    def self.list(items) = [address_of(items.join), items.size].pack('L<2')

    def self.option_string(text) = text ? number(1) + string(text) : number(0, 0, 0)

    def self.option_number(value) = value ? number(1, value) : number(0, 0)

    def self.number(*values) = values.pack('L<*')

    # Additional members of a record: names, and values that become JSON.
    def self.members(list) = list(list.map { |name, value| string(name) + string(GENERATE.call(value)) })

    def self.address_of(bytes)
      return 0 if bytes.empty?

      # A copy: a string that shares another's buffer begins anywhere, and lists must begin at a multiple of 4.
      bytes = String.new(bytes, capacity: bytes.bytesize)
      KEPT << bytes
      [bytes].pack('P').unpack1('L<')
    end
  end
end
