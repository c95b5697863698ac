# JSON of the contract becomes Ruby values.

module Boson
  module Document
    # Numbers that JSON lacks.
    SPECIAL = { '.nan' => Float::NAN, '.inf' => Float::INFINITY, '-.inf' => -Float::INFINITY }.freeze

    # Order of members is kept: templates print hashes. The host has checked the depth.
    def self.parse(text)
      value = JSON.parse(text, max_nesting: false)
      # Keys that are no strings come escaped, which is rare: the walk over the whole document is for those that need it.
      text.include?('\u0000') ? unescape(value) : value
    end

    def self.unescape(value)
      case value
      when Array then value.map { |item| unescape(item) }
      when Hash then special(value) || value.to_h { |key, member| [unkey(key), unescape(member)] }
      else value
      end
    end

    def self.special(hash)
      SPECIAL[hash["\0"]] if hash.size == 1
    end

    def self.unkey(key)
      key.start_with?("\0") ? parse(key.delete_prefix("\0")) : key
    end
  end
end
