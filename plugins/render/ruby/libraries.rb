# What is there without `require` when the director renders a template. Loaded before the snapshot, they cost an instance nothing.
# RubyGems first: of Ruby 4.0, base64 and ostruct are gems.
%w[
  rubygems json yaml erb ostruct set time date ipaddr uri openssl digest base64 securerandom shellwords cgi tempfile fileutils
  pathname logger zlib forwardable monitor net/http resolv socket stringio strscan timeout open3 delegate singleton
].each { |library| require library }
