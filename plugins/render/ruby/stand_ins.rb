# Libraries that BOSH's director has loaded and this Ruby lacks. Without them `require` would fail in templates that never use
# more than a constant of them (ipaddr requires socket for three constants).

class SocketError < StandardError; end

# What every class below says when a template opens a connection.
module NoNetwork
  %i[new open tcp udp getaddrinfo gethostname gethostbyname getaddress ip_address_list for_fd pair].each do |method|
    define_method(method) do |*|
      raise SecurityError, "#{self}.#{method}: templates have no network"
    end
  end
end

class BasicSocket < IO
  extend NoNetwork
end

class Socket < BasicSocket
  AF_UNSPEC = 0
  AF_INET = 2
  AF_INET6 = 10
  PF_INET = AF_INET
  PF_INET6 = AF_INET6
  SOCK_STREAM = 1
  SOCK_DGRAM = 2
  IPPROTO_TCP = 6
  TCP_NODELAY = 1
  SOL_SOCKET = 1
  SO_REUSEADDR = 2
  SO_KEEPALIVE = 9

  class ResolutionError < SocketError; end

  module Constants
    AF_UNSPEC = Socket::AF_UNSPEC
    AF_INET = Socket::AF_INET
    AF_INET6 = Socket::AF_INET6
  end
end

class IPSocket < BasicSocket; end
class TCPSocket < IPSocket; end
class TCPServer < TCPSocket; end
class UDPSocket < IPSocket; end
class UNIXSocket < BasicSocket; end
class UNIXServer < UNIXSocket; end

class Addrinfo
  extend NoNetwork
end

# Object#blank? and its relatives, as active_support has them.
class Object
  def blank? = respond_to?(:empty?) ? !!empty? : !self
  def present? = !blank?
  def presence = (self if present?)
end

class String
  # White space of any alphabet is blank.
  def blank? = match?(/\A[[:space:]]*\z/)
end

module ActiveSupport; end

%w[
  socket.rb socket.so io/wait.rb
  active_support.rb active_support/core_ext/object/blank.rb active_support/core_ext/object.rb
].each { |feature| $LOADED_FEATURES << feature }

# Release authors require the evaluation context by its old and its new name; all of it is here already.
%w[bosh bosh/common].each do |home|
  %w[
    template template/evaluation_context template/evaluation_failed template/evaluation_link
    template/evaluation_link_instance template/invalid_property_type template/manual_link_dns_encoder
    template/property_helper template/renderer template/unknown_link template/unknown_property
  ].each { |feature| $LOADED_FEATURES << "#{home}/#{feature}.rb" }
end
$LOADED_FEATURES << 'bosh/common.rb'
