# record-interpolate.rb BOSH FILE: runs the cases of FILE (interpolate.jsonl) with a real `bosh` and writes down in it what that says.
#
# A case: "id", "files" (name -> text), "arguments" (of `bosh interpolate`, run where the files are), and perhaps "input" and
# "environment". Recorded: "output", or "error"; and "store", what the file of that name holds afterwards. In errors the file's
# path, the flag's type and the indentation are left out: they are BOSH's manner of printing, not its words.
require 'json'
require 'open3'
require 'tmpdir'

def words(text, directory)
  text.sub(/Exit code \d+\s*\z/, '').gsub("#{directory}/", '').gsub(/invalid argument for flag `[^']*' \(expected [^)]*\): /, '').strip
end

def run(bosh, one)
  Dir.mktmpdir do |directory|
    one.fetch('files', {}).each { |name, text| File.write(File.join(directory, name), text) }
    environment = { 'HOME' => directory, 'TMPDIR' => nil }.merge(one.fetch('environment', {}))
    output, error, status = Open3.capture3(environment, bosh, 'interpolate', *one['arguments'], stdin_data: one.fetch('input', ''), chdir: directory)
    said = status.success? ? { 'output' => output } : { 'error' => words(error, directory) }
    store = File.join(directory, 'store')
    File.file?(store) && !one.fetch('files', {}).key?('store') ? said.merge('store' => File.read(store)) : said
  end
end

bosh, file = ARGV
abort File.foreach(__FILE__).first.delete_prefix('# ') unless file
cases = File.readlines(file, encoding: 'UTF-8').map { |line| JSON.parse(line) }
expected = %w[output error store]
recorded = cases.map { |one| JSON.generate(one.reject { |key, _| expected.include?(key) }.merge(run(File.expand_path(bosh), one))) }
File.write(file, recorded.join("\n") + "\n")
