# No randomness: two runs of the same conversion must give the same files, and all instances start from one snapshot, so what
# looked random would be known to everyone who has the component.

module Boson
  module Randomness
    REASON = 'templates have no randomness, because the same input must give the same files; ' \
             'let a variable of the manifest hold what has to be random'

    # Ruby's own generators, where no seed is given.
    module Seeded
      def new(*seed)
        seed.empty? ? raise(SecurityError, "Random.new: #{REASON}") : super
      end
    end

    # Array#shuffle and its like take a generator that the template made from a seed.
    module Ordered
      %i[shuffle shuffle! sample].each do |method|
        define_method(method) do |*args, **options|
          raise SecurityError, "#{method}: #{REASON}" unless options.key?(:random)

          super(*args, **options)
        end
      end
    end

    kernel = %i[rand srand]
    Sealed.refuse(Kernel, REASON, *kernel)
    Sealed.refuse(Kernel.singleton_class, REASON, *kernel)
    Sealed.refuse(Random.singleton_class, REASON, :rand, :random_number, :bytes, :seed, :new_seed, :urandom, :srand)
    Random.singleton_class.prepend(Seeded)
    Array.prepend(Ordered)

    formatter = %i[
      bytes random_bytes hex base64 urlsafe_base64 uuid uuid_v4 uuid_v7 alphanumeric random_number rand gen_random choose
    ]
    Sealed.refuse(SecureRandom.singleton_class, REASON, *formatter)

    # Refuses methods of OpenSSL's objects and classes, where this build has the class.
    def self.openssl(name, *methods, own: [])
      return unless OpenSSL.const_defined?(name)

      target = OpenSSL.const_get(name)
      Sealed.refuse(target.singleton_class, REASON, *methods)
      Sealed.refuse(target, REASON, *own) if own.any?
    end

    openssl(:Random, :random_bytes, :bytes, :pseudo_bytes, :seed, :random_add)
    openssl(:BN, :rand, :pseudo_rand, :rand_range, :pseudo_rand_range, :generate_prime)
    openssl(:PKey, :generate_key, :generate_parameters)
    openssl(:Cipher, own: %i[random_key random_iv])
    openssl('PKey::RSA', :generate)
    openssl('PKey::DSA', :generate)
    openssl('PKey::DH', :generate, own: %i[generate_key!])
    openssl('PKey::EC', :generate, own: %i[generate_key generate_key!])

    # RSA.new(2048) makes a key, RSA.new(pem) reads one.
    module ReadsKeys
      def new(*args)
        args.first.is_a?(Integer) ? raise(SecurityError, "#{self}.new: #{REASON}") : super
      end
    end
    [OpenSSL::PKey::RSA, OpenSSL::PKey::DSA, OpenSSL::PKey::DH].each { |kind| kind.singleton_class.prepend(ReadsKeys) }
  end
end
