# record.rb BOSH RELEASE [CONTEXTS]: what BOSH's own template code makes of a release's templates, one JSON object a line on standard output.
#
# BOSH is a checkout of cloudfoundry/bosh; `-` for none: then the cases have no expectation. RELEASE is a release's source directory.
# CONTEXTS (else RELEASE/contexts, where that is) holds files <job>.json: a map of names to contexts. Jobs without such a file get
# contexts that are made up from their specs, see `Job#contexts`. Needs ruby with ERB, and active_support for BOSH.
# What the director's process has loaded, and templates use without a word.
%w[base64 cgi date digest erb ipaddr json openssl ostruct securerandom set shellwords time timeout uri yaml].each { |name| require name }

SECONDS = 20 # for one template
# An older Ruby writes empty maps and lists over several lines in JSON.pretty_generate: the case has to say so.
RECORDED_BY = RUBY_VERSION < '3.4' ? { ruby: RUBY_VERSION } : {}.freeze

# A job of the release.
class Job
  attr_reader :name

  def initialize(directory, contexts)
    @directory = directory
    @given = File.join(contexts, "#{File.basename(directory)}.json")
    @spec = YAML.safe_load_file(File.join(directory, 'spec'), aliases: true, permitted_classes: [Date, Symbol])
    @name = @spec['name'] || File.basename(directory)
  end

  # Name in the release -> text.
  def templates
    names = @spec['templates'].to_h.keys.map { |source| [source, File.join(@directory, 'templates', source)] }
    names << ['monit', File.join(@directory, 'monit')]
    names.select { |_, path| File.file?(path) }.to_h { |source, path| [source, File.read(path, encoding: 'UTF-8')] }
  end

  # Name -> context. Made up: `defaults` has what the spec has, `filled` a value for every property and every link that may be there.
  def contexts
    return JSON.parse(File.read(@given)) if File.file?(@given)

    { 'defaults' => context(false), 'filled' => context(true) }
  end

  private

  def context(filled)
    links = (@spec['consumes'] || []).select { |link| filled || !link['optional'] }
    instance.merge('properties' => properties(filled), 'links' => links.to_h { |link| [link['name'], provider(link)] })
  end

  def instance
    network = { 'type' => 'manual', 'ip' => '10.0.0.7', 'netmask' => '255.255.255.0', 'gateway' => '10.0.0.1', 'default' => %w[dns gateway] }
    {
      'deployment' => 'made-up', 'name' => @name, 'job' => { 'name' => @name }, 'index' => 0, 'bootstrap' => true, 'az' => 'z1',
      'id' => '11111111-2222-4333-8444-555555555555', 'address' => '10.0.0.7', 'ip' => '10.0.0.7', 'dns_domain_name' => 'bosh',
      'release' => { 'name' => 'made-up', 'version' => '1' }, 'networks' => { 'default' => network }
    }
  end

  def properties(filled)
    (@spec['properties'] || {}).each_with_object({}) do |(path, about), all|
      about ||= {}
      value = about.key?('default') ? about['default'] : (made_up(path, about) if filled)
      *parents, last = path.split('.')
      parent = parents.inject(all) { |map, key| map[key].is_a?(Hash) ? map[key] : (map[key] = {}) }
      parent[last] = value unless parent[last].is_a?(Hash)
    end
  end

  def made_up(path, about)
    return about['example'] if about.key?('example')

    case path
    when /(port|timeout|interval|count|size|limit|instances)s?\z/ then 8000 + path.sum % 1000
    when /(enabled?|disabled?|skip\w*|is_\w+|use_\w+)\z/ then path.sum.even?
    when /(s|list)\z/ then ["#{path}-one", "#{path}-two"]
    else path
    end
  end

  def provider(link)
    instances = [0, 1].map do |index|
      { 'name' => link['name'], 'index' => index, 'id' => "id-#{index}", 'az' => "z#{index + 1}", 'address' => "10.1.0.#{index}", 'bootstrap' => index.zero? }
    end
    { 'instance_group' => link['name'], 'deployment_name' => 'made-up', 'domain' => 'bosh', 'default_network' => 'default',
      'address' => "#{link['name']}.made-up", 'instances' => instances, 'properties' => {} }
  end
end

# BOSH's template code, from a checkout.
class Reference
  def initialize(checkout)
    $LOAD_PATH.unshift(File.join(checkout, 'src/bosh-common/lib'))
    Object.const_set(:Bosh, Module.new).const_set(:Common, Module.new)
    require 'bosh/common/template/evaluation_context'
    # The name that releases know it by.
    Bosh.const_set(:Template, Bosh::Common::Template)
  end

  # In a process of its own: what a template defines must not reach the next one.
  def render(source, context, name)
    reader, writer = IO.pipe
    child = fork do
      [$stdin, $stdout, $stderr].each { |stream| stream.reopen(File::NULL, stream == $stdin ? 'r' : 'w') }
      writer.write(JSON.generate(answer(source, JSON.parse(context), name)))
      writer.close
      exit!(0)
    end
    writer.close
    JSON.parse(Timeout.timeout(SECONDS) { reader.read })
  rescue Timeout::Error, JSON::ParserError
    {}
  ensure
    Process.kill(:KILL, child)
    Process.wait(child)
  end

  private

  def answer(source, context, name)
    template = ERB.new(source, trim_mode: '-')
    template.filename = name
    { output: template.result(Bosh::Common::Template::EvaluationContext.new(context, nil).get_binding).force_encoding('UTF-8') }
  rescue Exception => e # rubocop:disable Lint/RescueException
    # Ruby's own texts change with its version.
    stable = e.class.name.start_with?('Bosh::') || e.instance_of?(RuntimeError)
    { error: stable ? e.message.gsub('Bosh::Common::', 'Bosh::') : '' }
  end
end

checkout, release, contexts = ARGV
abort File.foreach(__FILE__).first.delete_prefix('# ') unless release
contexts ||= File.join(release, 'contexts')
reference = Reference.new(checkout) unless checkout == '-'
Dir[File.join(release, 'jobs/*/spec')].sort.each do |spec|
  job = Job.new(File.dirname(spec), contexts)
  job.templates.each do |template, text|
    job.contexts.each do |name, context|
      expected = reference ? reference.render(text, JSON.generate(context), template) : {}
      # Killed, or not to be had as text: nothing to compare with.
      next if reference && expected.empty?

      puts JSON.generate({ id: "#{job.name}/#{template} #{name}", name: template, template: text, context: context, **RECORDED_BY, **expected.transform_keys(&:to_sym) })
    end
  end
end
