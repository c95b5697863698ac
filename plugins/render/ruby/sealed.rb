# Errors for what templates may not do. Every system call fails anyway; without this file a template would get "Bad file descriptor", or end the whole
# instance.
#
# SecurityError is no StandardError: a bare `rescue` does not hide it.

module Boson
  module Sealed
    # Makes methods of `target` raise, unless `except` says of their first argument that they may run. Methods that are not there
    # are skipped: builds of Ruby differ.
    def self.refuse(target, reason, *methods, except: nil)
      place = target.singleton_class? ? "#{target.attached_object}." : ''
      # What this build lacks altogether says "unimplemented on this machine" and passes for undefined.
      known = methods.select { |method| defined_somehow?(target, method) }
      hidden = known.select do |method|
        target.private_method_defined?(method) || !(target.singleton_class? || target.method_defined?(method))
      end
      target.prepend(Module.new do
        known.each do |method|
          define_method(method) do |*args, **options, &block|
            next super(*args, **options, &block) if except&.call(args.first)

            raise SecurityError, "#{place}#{method}: #{reason}"
          end
        end
        # Public ones would answer for objects that pass unknown methods on.
        private(*hidden)
      end)
    end

    def self.defined_somehow?(target, method)
      target.instance_method(method)
    rescue NameError
      false
    end

    # Makes methods of `target` raise for good: what `refuse` puts in front of a method can be taken away again, and beneath
    # these no failing system call waits.
    def self.close(target, reason, *methods)
      place = target.singleton_class? ? "#{target.attached_object}." : "#{target}#"
      methods.select { |method| defined_somehow?(target, method) }.each do |method|
        target.define_method(method) { |*| raise SecurityError, "#{place}#{method}: #{reason}" }
      end
    end

    FILES = 'templates have no files; everything they need comes from properties and links'
    PROCESSES = 'templates can start no processes'

    # Ruby reads its own libraries with these methods too, when a template requires one.
    LIBRARY = proc { |path| path.respond_to?(:to_str) && path.to_str.start_with?("#{RbConfig::CONFIG['prefix']}/") }

    refuse(IO.singleton_class, FILES, :read, :binread, :readlines, :foreach, :open, :write, :binwrite, :sysopen, :copy_stream,
           except: LIBRARY)
    refuse(File.singleton_class, FILES, :new, except: LIBRARY)
    refuse(Dir.singleton_class, FILES, :open, :new, :entries, :children, :each_child, :foreach, except: LIBRARY)
    refuse(Dir.singleton_class, FILES, :mkdir, :mktmpdir, :chdir)
    refuse(Tempfile.singleton_class, FILES, :new, :open, :create)
    refuse(Kernel, FILES, :open, except: LIBRARY)
    refuse(Kernel.singleton_class, FILES, :open, except: LIBRARY)
    refuse(Kernel, FILES, :gets, :readline, :readlines)

    processes = %i[system exec spawn fork ` daemon trap syscall]
    refuse(Kernel, PROCESSES, *processes)
    refuse(Kernel.singleton_class, PROCESSES, *processes)
    refuse(Process.singleton_class, PROCESSES, *processes, :kill, :detach, :wait, :wait2)
    refuse(IO.singleton_class, PROCESSES, :popen, :pipe)

    THREADS = 'templates can start no threads; they run from top to bottom'
    refuse(Thread.singleton_class, THREADS, :new, :start, :fork)
    refuse(Ractor.singleton_class, THREADS, :new)

    # Each leads from a template's objects to others that it must not reach, such as the renderer.
    OTHERS = 'templates can access their context only, not the renderer'
    close(ObjectSpace.singleton_class, OTHERS, :each_object, :_id2ref)
    close(TracePoint.singleton_class, OTHERS, :new, :trace, :stat)
    close(Kernel, OTHERS, :set_trace_func)
    close(Kernel.singleton_class, OTHERS, :set_trace_func)
    close(Class, OTHERS, :subclasses)
    close(Proc, OTHERS, :binding)
  end
end

# `exit!` would end the instance and take the other templates with it; `exit` raises what we catch.
module Kernel
  private def exit!(status = false) = exit(status)
end

class << Process
  def exit!(status = false) = exit(status)
end

# Time stands still here, so waiting would never end, and a deadline never come. The host ends what takes too long.
module Kernel
  private def sleep(seconds = 0) = seconds.round
end

class << Kernel
  def sleep(seconds = 0) = seconds.round
end

class << Timeout
  def timeout(_seconds, *) = yield(nil)
end
