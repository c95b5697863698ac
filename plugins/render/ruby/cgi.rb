# The director has the gem `cgi`. Ruby 4.0 itself has only the methods that escape; of the rest of the gem, a template can use what
# reads a query. Classes that answer requests (`CGI.new`, `CGI::Cookie`) are missing.

class CGI
  Util = Escape

  # Names and their values, which are lists.
  def self.parse(query)
    query.split(/[&;]/).each_with_object(Hash.new([].freeze)) do |pair, found|
      name, value = pair.split('=', 2).map { |part| unescape(part) }
      next unless name

      found[name] = [] unless found.key?(name)
      found[name] << value if value
    end
  end
end
