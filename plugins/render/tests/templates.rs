//! The behaviour of templates, tested with the sealed component, which `boson-build` makes first.

#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::print_stderr, reason = "tests tell what they measured")]

mod instance;

use std::sync::OnceLock;

use data_encoding::HEXLOWER;
use instance::{FUEL, Renderer, Reply, list, member, string};

const CONTEXT: &str = r#"{
    "deployment": "cf", "name": "web", "index": 3, "id": "web-3", "az": "z1", "bootstrap": false, "address": "web.svc", "ip": "10.0.0.3",
    "networks": {"default": {"ip": "10.0.0.3", "dns_record_name": "3.web.default.cf.bosh"}},
    "job": {"name": "web"}, "release": {"name": "app", "version": "1"},
    "properties": {
        "port": 8080, "host": "a.example.com", "ratio": 1.10, "big": 123456789012345678901234567890, "no": false, "empty": "",
        "none": null, "list": [{"n": 1}, {"n": 2}], "zone": {"z": 1, "a": 2}, "odd": {"\u0000false": 1, "\u00007": 2, "\u0000\"\\u0000x\"": 3},
        "inf": {"\u0000": ".inf"}, "hash": "overrides", "tls": {"enabled": true}
    },
    "links": {
        "db": {"deployment_name": "cf", "instance_group": "db", "address": "db.svc", "properties": {"port": 5524, "tls": null}, "instances": [
            {"name": "db", "id": "db-0", "index": 0, "az": "z1", "address": "db-0.svc", "bootstrap": true},
            {"name": "db", "id": "db-1", "index": 1, "az": "z2", "address": "db-1.svc", "bootstrap": false, "properties": {"x": 1}}
        ]},
        "manual": {"instances": null, "properties": null, "address": "ext.example.com"},
        "dns": {"instances": [], "properties": {}}
    }
}"#;

fn renderer() -> &'static Renderer {
    static RENDERER: OnceLock<Renderer> = OnceLock::new();
    RENDERER.get_or_init(|| Renderer::open().unwrap())
}

fn render(text: &str) -> Reply {
    renderer().render(&[("app/file.erb", text)], CONTEXT).unwrap()
}

#[track_caller]
fn output(text: &str) -> String {
    let reply = render(text);
    assert_eq!(reply.files.len(), 1, "{text}: {:?}", reply.diagnostics);
    reply.files[0].1.clone()
}

/// Code, line and message of the only error.
#[track_caller]
fn error(text: &str) -> (String, Option<u32>, String) {
    let reply = render(text);
    let errors: Vec<_> = reply
        .diagnostics
        .iter()
        .filter(|found| found.severity == "error")
        .collect();
    assert_eq!(errors.len(), 1, "{text}: {:?} {:?}", reply.files, reply.diagnostics);
    assert_eq!(errors[0].document.as_deref(), Some("app/file.erb"));
    (errors[0].code.clone(), errors[0].line, errors[0].message.clone())
}

// Rows of docs/differences.md: `link.address(azs: ..)`; a manual link without `instances`; a property with a key that
// is no string.
#[test]
fn templates_see_what_bosh_shows_them() {
    for (text, expected) in [
        // properties
        ("<%= p('port') %> <%= p('tls.enabled') %>", "8080 true"),
        (
            "<%= p('nope', 'x') %><%= p('nope', nil).inspect %><%= p(%w[nope port]) %><%= p(%w[a b], 7) %>",
            "xnil80807",
        ),
        ("<%= p('no') %> <%= p('empty').inspect %>", "false \"\""),
        ("<%= p('host.exam') %> <%= p('').size %>", "exam 13"),
        ("<%= p(nil, 4) %><%= p([], 5) %>", "45"),
        (
            "<%= p('ratio') %> <%= p('big') %> <%= p('inf') %>",
            "1.1 123456789012345678901234567890 Infinity",
        ),
        ("<%= p('odd') %>", "{false => 1, 7 => 2, \"\\u0000x\" => 3}"),
        ("<%= properties.odd.to_h %>", "{\"\\x00x\": 3}"),
        ("<%= p('zone').keys %>", "[\"z\", \"a\"]"),
        // conditions
        (
            "<% if_p('port', 'host') do |a, b| %><%= a %><%= b %><% end %>",
            "8080a.example.com",
        ),
        ("<% if_p('port', 'nope') do %>A<% end.else do %>B<% end %>", "B"),
        ("<% if_p('no') do |v| %><%= v %><% end.else do %>B<% end %>", "false"),
        (
            "<% if_p('a') { }.else_if_p('port') { |v| %><%= v %><% }.else { %>C<% } %>",
            "8080",
        ),
        (
            "<% if_p('a') { }.else_if_link('db') { |l| %><%= l.address %><% } %>",
            "db.svc",
        ),
        (
            "<% if_p('port') { }.else_if_p('host') { %>no<% }.else { %>no<% } %>",
            "",
        ),
        ("<%= if_p('a') { }.else { 5 } %>", "5"),
        (
            "<%= p('nope', false) %> <%= p('port.') %> <%= p('.port', 1) %>",
            "false 8080 1",
        ),
        (
            "<% r = if_p('port') { }.else_if_link('db') { %>no<% } %><%= r.else { 5 }.inspect %>",
            "nil",
        ),
        (
            "<% if_p('port', 'host', 'no') do |*all| %><%= all.size %><% end.else do %>no<% end %>",
            "3",
        ),
        // links
        (
            "<% link('db').if_p('nope') { }.else_if_p('port') { |v| %><%= v %><% }.else { %>no<% } %>",
            "5524",
        ),
        (
            "<% link('db').if_p('port', 'nope') { %>no<% }.else { %>E<% } %><%= link('db').p(%w[nope port]) %><%= link('db').p('nope', nil).inspect %>",
            "E5524nil",
        ),
        (
            "<% link('db').instances[1].if_p('x') { |v| %><%= v %><% } %><% link('db').instances[0].if_p('x') { }.else { %>E<% } %>",
            "1E",
        ),
        (
            "<% if_link('db') { |l| %><%= l.instances.size %><% }.else_if_link('nope') { %>no<% }.else { %>no<% } %>",
            "2",
        ),
        (
            "<%= self.class %> <%= link('db').class %> <%= link('db').instances[0].class %>",
            "Bosh::Common::Template::EvaluationContext Bosh::Common::Template::EvaluationLink Bosh::Common::Template::EvaluationLinkInstance",
        ),
        (
            "<%= link('db').instances.map(&:address).join(',') %>",
            "db-0.svc,db-1.svc",
        ),
        (
            "<%= link('db').p('port') %> <%= link('db').p('tls', 'd') %> <%= link('db').properties %>",
            "5524 d {\"port\" => 5524, \"tls\" => nil}",
        ),
        (
            "<% i = link('db').instances[1] %><%= [i.name, i.id, i.index, i.az, i.bootstrap, i.p('x')] %>",
            "[\"db\", \"db-1\", 1, \"z2\", false, 1]",
        ),
        ("<%= link('db').address(azs: ['z1'], status: 'healthy') %>", "db.svc"),
        ("<% if_link('nope') { }.else { %>E<% } %>", "E"),
        ("<% link('db').if_p('port') { |v| %><%= v %><% } %>", "5524"),
        (
            "<%= link('manual').address %> <%= link('manual').instances %>",
            "ext.example.com []",
        ),
        // spec
        (
            "<%= spec.deployment %> <%= spec.index %> <%= spec['job']['name'] %> <%= name %> <%= index %>",
            "cf 3 web web 3",
        ),
        (
            "<%= spec.networks.send(spec.networks.methods(false).first).ip %>",
            "10.0.0.3",
        ),
        (
            "<%= spec.networks.marshal_dump.keys %> <%= spec.vm_type.inspect %>",
            "[:default] nil",
        ),
        (
            "<%= spec.properties.tls.enabled %> <%= spec.links.db.address %> <%= @spec.release.name %>",
            "true db.svc app",
        ),
        (
            "<%= properties.zone.a %> <%= properties.list[1].n %> <%= properties.nope.inspect %> <%= @properties.port %>",
            "2 2 nil 8080",
        ),
        (
            "<%= properties.hash %> <%= properties.respond_to?(:port) %> <%= raw_properties['zone'] %>",
            "overrides true {\"z\" => 1, \"a\" => 2}",
        ),
        (
            "<%= spec.class.name.split('::').last %> <%= spec.networks.default.to_h.keys %> <%= spec[:index] %> <%= properties['port'] %>",
            "BackCompatOpenStruct [:ip, :dns_record_name] 3 8080",
        ),
        (
            "<% raw_properties['zone']['z'] = 9 %><%= properties.zone.z %> <%= p('zone.z') %>",
            "1 9",
        ),
        // ERB
        (
            "  <%- 2.times do |i| -%>\n<%= i %>\n  <%- end -%>\n% x\n<%% y %>",
            "0\n1\n% x\n<% y %>",
        ),
        // libraries without require
        (
            "<%= IPAddr.new('10.0.0.0/8').to_range.last %> <%= URI('https://x:1/').port %> <%= Shellwords.escape('a b') %>",
            "10.255.255.255 1 a\\ b",
        ),
        (
            "<%= {'a' => [], 'on' => nil}.to_yaml %><%= JSON.pretty_generate('a' => []) %>",
            "---\na: []\n'on':\n{\n  \"a\": []\n}",
        ),
        (
            "<%= Base64.strict_encode64('x') %> <%= Digest::MD5.hexdigest('x') %> <%= CGI.escape('&') %> <%= Set[1].size %>",
            "eA== 9dd4e461268c8034f5c8564e155c67a6 %26 1",
        ),
        (
            "<%= ''.blank? %> <%= ' '.present? %> <%= nil.presence.inspect %> <%= [1].presence %>",
            "true false nil [1]",
        ),
        (
            "<% require 'bosh/template/evaluation_context'; require 'socket'; require 'net/http'; require 'active_support' %>ok",
            "ok",
        ),
        (
            "<%= OpenSSL::Digest::SHA256.hexdigest('x')[0, 8] %> <%= OpenSSL::X509::Name.parse('/CN=x') %> <%= YAML.load('a: 1') %>",
            "2d711642 /CN=x {\"a\" => 1}",
        ),
        (
            "<% %w[evaluation_context property_helper evaluation_link unknown_property].each { |f| require \"bosh/common/template/#{f}\" } %>\
             <%= [Bosh::Template::EvaluationFailed, Bosh::Template::UnknownLink, Bosh::Template::InvalidPropertyType].map(&:superclass).uniq %>",
            "[StandardError]",
        ),
        (
            "<% begin; p('x'); rescue Bosh::Template::UnknownProperty, UnknownLink => e %><%= e.name %><% end %>",
            "[\"x\"]",
        ),
        (
            "<%= Time.now.utc.iso8601 %> <%= Process.pid %> <%= ENV.to_h %>",
            "2000-01-01T00:00:00Z 42 {}",
        ),
        (
            "<%= Random.new(3).rand(10) %><% e = [1, 2].each %><%= e.next %><%= Timeout.timeout(1) { sleep 9 } %>",
            "819",
        ),
        (
            "<% class Peer; def x = 1; end; def twice(v) = v * 2 %><%= Peer.new.x %><%= twice(2) %> <%= Peer %>",
            "14 Bosh::Common::Template::EvaluationContext::Peer",
        ),
    ] {
        assert_eq!(output(text), expected, "{text}");
    }
}

// Rows of docs/differences.md: Ruby version; gem `cgi`; other gems; all rows of "Ruby 4.0". The expected texts are
// those of the same Ruby without the renderer, and for `CGI.parse` those of the gem.
#[test]
fn templates_run_on_ruby_4() {
    for (text, expected) in [
        (
            "<%= RUBY_VERSION[/\\d+\\.\\d+/] %> <%= Ruby::VERSION == RUBY_VERSION %> <%= RbConfig::CONFIG['UNICODE_VERSION'] %>",
            "4.0 true 17.0.0",
        ),
        (
            "<%= Set[1, [2]] %> <%= [Set['a']].to_json %> <%= {1 => Set[]} %>",
            "Set[1, [2]] [\"Set[\\\"a\\\"]\"] {1 => Set[]}",
        ),
        (
            "<%= [1e15, 1e16, 1e-4, 1e-5, 1.5].to_json %>",
            "[1e+15,1e+16,0.0001,0.00001,1.5]",
        ),
        (
            "<% begin; JSON.parse('{\"a\" 1}'); rescue JSON::ParserError => e %><%= e.message %><% end %>",
            "expected ':' after object key at line 1 column 6",
        ),
        (
            "<% begin; ERB.new('x', nil, '-'); rescue ArgumentError => e %><%= e.message %><% end %>",
            "wrong number of arguments (given 3, expected 1)",
        ),
        (
            "<% Pair = Data.define(:a) %><%= YAML.dump(Pair.new(a: 1)).lines.last %>",
            "a: 1\n",
        ),
        (
            "<% begin; OpenSSL::Digest.new('NOPE'); rescue OpenSSL::Digest::DigestError => e %><%= e.message[0, 28] %><% end %>",
            "unsupported digest algorithm",
        ),
        (
            "<% begin; OpenSSL::Cipher.new('NOPE'); rescue OpenSSL::Cipher::CipherError => e %><%= e.message[0, 28] %><% end %>",
            "unsupported cipher algorithm",
        ),
        ("<%= begin; SortedSet; rescue NameError; 'none'; end %>", "none"),
        ("<% a = true\n&& false %><%= a %>", "false"),
        (
            "<%= 'xax'.strip('x') %> <%= [1, 2].rfind { |n| n < 2 } %> <%= Enumerator.produce(1, size: 3) { 1 }.size %>",
            "a 1 3",
        ),
        (
            "<% class Shy; def initialize = (@a, @b = 1, 2); private def instance_variables_to_inspect = [:@b]; end %>\
             <%= Shy.new.inspect.end_with?(' @b=2>') %>",
            "true",
        ),
        // gems of the director
        (
            "<% require 'cgi'; require 'cgi/util'; require 'cgi/escape'; require 'ostruct'; require 'base64' %>\
             <%= OpenStruct.new(a: 1) %> <%= CGI.escape(' é') %> <%= CGI.unescapeHTML('&lt;&#x41;') %> <%= CGI::Util.class %>",
            "#<OpenStruct a=1> +%C3%A9 <A Module",
        ),
        (
            "<%= CGI.parse('a=1&a=2;b=%26+x&=3&&c=d=e&f') %> <%= CGI.parse('')['none'] %>",
            "{\"a\" => [\"1\", \"2\"], \"b\" => [\"& x\"], \"\" => [\"3\"], \"c\" => [\"d=e\"], \"f\" => []} []",
        ),
        (
            "<%= defined?(CGI::Cookie).inspect %> <%= begin; require 'bigdecimal'; rescue LoadError; 'none'; end %>",
            "nil none",
        ),
        // the same as in 3.4
        (
            "<%= {a: 1, 'b' => nil} %> <%= [1, 2].map { it * 2 } %> <%= 'a' << 'b' %> <%= JSON.pretty_generate([[], {}]) %>",
            "{a: 1, \"b\" => nil} [2, 4] ab [\n  [],\n  {}\n]",
        ),
    ] {
        assert_eq!(output(text), expected, "{text}");
    }
}

// Row of docs/differences.md: output that is not UTF-8.
#[test]
fn failures_name_the_line_and_keep_the_words_of_the_exception() {
    for (text, code, line, message) in [
        (
            "\n<%= p('a.b') %>",
            "render-unknown-property",
            Some(2),
            "Can't find property '[\"a.b\"]'",
        ),
        (
            "<%= p(%w[a b]) %>",
            "render-unknown-property",
            Some(1),
            "Can't find property '[\"a\", \"b\"]'",
        ),
        (
            "<%= p('a', 1, 2) %>",
            "render-unknown-property",
            Some(1),
            "Can't find property '[\"a\"]'",
        ),
        (
            "<%= p([]) %>",
            "render-unknown-property",
            Some(1),
            "Can't find property '[]'",
        ),
        (
            "<%= p('none') %>",
            "render-unknown-property",
            Some(1),
            "Can't find property '[\"none\"]'",
        ),
        (
            "\n\n<%= link('x') %>",
            "render-unknown-link",
            Some(3),
            "Can't find link 'x'",
        ),
        (
            "<%= link('db').instances[0].p('x') %>",
            "render-unknown-property",
            Some(1),
            "Can't find property '[\"x\"]'",
        ),
        (
            "<%= link('dns').address %>",
            "render-template-failed",
            Some(1),
            "link.address requires bosh director",
        ),
        (
            "<%= p('list.x') %>",
            "render-template-failed",
            Some(1),
            "no implicit conversion of String into Integer",
        ),
        (
            "<%= p('tls.enabled.x') %>",
            "render-template-failed",
            Some(1),
            "undefined method '[]' for true",
        ),
        (
            "<%= p(5) %>",
            "render-template-failed",
            Some(1),
            "undefined method 'split' for an instance of Integer",
        ),
        (
            "<%= link('db').p(%w[x y]) %>",
            "render-unknown-property",
            Some(1),
            "Can't find property '[\"x\", \"y\"]'",
        ),
        (
            "<% link('db').if_p('x') { }.else_if_link('db') { } %>",
            "render-template-failed",
            Some(1),
            "undefined method 'if_link' for an instance of Bosh::Common::Template::EvaluationLink",
        ),
        (
            "<%= properties.a.b %>",
            "render-template-failed",
            Some(1),
            "undefined method 'b' for nil",
        ),
        (
            "a\n<% raise 'Give a port' %>",
            "render-template-failed",
            Some(2),
            "Give a port",
        ),
        ("<% exit %>", "render-template-failed", Some(1), "exit"),
        ("<% exit!(3) %>", "render-template-failed", Some(1), "exit"),
        ("<% abort %>", "render-template-failed", Some(1), "exit"),
        (
            "<% raise NotImplementedError, 'later' %>",
            "render-template-failed",
            Some(1),
            "later",
        ),
        (
            "<% def f(x) = f(x + 1) %>\n<%= f(0) %>",
            "render-template-failed",
            Some(1),
            "stack level too deep",
        ),
        (
            "<%= Base64.decode64('/w==') %>",
            "render-not-text",
            None,
            "The result is not UTF-8",
        ),
    ] {
        assert_eq!(error(text), (code.into(), line, message.into()), "{text}");
    }
    let (code, line, message) = error("\n<% if %>");
    assert_eq!((code.as_str(), line), ("render-template-syntax", Some(2)));
    assert!(message.contains("expected a predicate expression"), "{message}");
}

// Rows of docs/differences.md: `rand`, `SecureRandom`, keys; files, sockets, processes, threads.
#[test]
fn nothing_of_the_machine_is_reachable() {
    for text in [
        "File.read('/etc/passwd')",
        "File.open('x')",
        "IO.readlines('x')",
        "open('x')",
        "Pathname.new('x').read",
        "Dir.entries('/')",
        "File.write('x', 'y')",
        "FileUtils.mkdir_p('/x')",
        "Tempfile.new('x')",
        "gets",
        "`ls`",
        "system('ls')",
        "exec('ls')",
        "IO.popen('ls')",
        "Process.spawn('ls')",
        "Open3.capture2('ls')",
        "Process.kill(9, 1)",
        "fork { }",
        "Process.fork",
        "Thread.new { 1 }.join",
        "Thread.start { 1 }",
        "Ractor.new { 1 }",
        "TCPSocket.new('x', 1)",
        "Net::HTTP.get(URI('http://x'))",
        "Socket.gethostname",
        "Socket.tcp('x', 1)",
        "UDPSocket.new",
        "rand",
        "rand(5)",
        "Kernel.rand",
        "srand(1)",
        "Random.rand",
        "Random.new",
        "Random.bytes(1)",
        "Random.new_seed",
        "Random.seed",
        "[1, 2].shuffle",
        "[1, 2].sample",
        "[1, 2].shuffle!",
        "SecureRandom.hex",
        "SecureRandom.uuid",
        "SecureRandom.alphanumeric",
        "SecureRandom.random_bytes",
        "SecureRandom.random_number(5)",
        "SecureRandom.base64",
        "Random.hex",
        "Random.uuid",
        "Random.urandom(4)",
        "Dir.mktmpdir",
        "Tempfile.create",
        "OpenSSL::PKey::DSA.new(512)",
        "OpenSSL::PKey::DH.new(64)",
        "OpenSSL::Random.random_bytes(1)",
        "OpenSSL::PKey::RSA.new(512)",
        "OpenSSL::PKey::RSA.generate(512)",
        "OpenSSL::PKey::EC.generate('prime256v1')",
        "OpenSSL::BN.rand(8)",
        "OpenSSL::Cipher.new('aes-128-cbc').random_iv",
        "OpenSSL::PKey.generate_key('RSA')",
        "(rand rescue 4)",
    ] {
        let (code, line, message) = error(&format!("<%= {text} %>"));
        assert_eq!(
            (code.as_str(), line),
            ("render-not-allowed", Some(1)),
            "{text}: {message}"
        );
        if ["rand", "Random", "PKey"].iter().any(|word| text.contains(word)) {
            assert!(
                message.contains("the same input must give the same files"),
                "{text}: {message}"
            );
        }
    }
}

// Row of docs/differences.md: `Time.now`.
#[test]
fn who_asks_for_the_time_hears_that_it_stands_still() {
    for (text, warned) in [
        ("<%= Time.now.year %>", true),
        ("<%= Time.new.year %>", true),
        ("<%= Date.today.year %>", true),
        ("<%= DateTime.now.year %>", true),
        ("<%= Process.clock_gettime(Process::CLOCK_REALTIME).to_i %>", true),
        ("<%= Time.new(2001).year %><%= Time.at(5).utc.sec %>", false),
    ] {
        let reply = render(text);
        assert_eq!(reply.files.len(), 1, "{text}: {:?}", reply.diagnostics);
        let codes: Vec<_> = reply.diagnostics.iter().map(|found| found.code.as_str()).collect();
        assert_eq!(codes, vec!["render-clock-fixed"; usize::from(warned)], "{text}");
    }
}

#[test]
fn templates_give_what_erb_gives() {
    // Tags, ends and white space in every order, from fixed seeds. Ruby's own compiler returns in one call the result
    // of each text, or the place of its error.
    let parts = [
        "<%", "<%-", "<%=", "<%#", "<%%", "%>", "-%>", "%%>", "\n", "\r\n", " ", "\t", "1", "é", "\"", "#", "-", "%",
        "=", "\n\n",
    ];
    let mut seed = 7_u32;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as usize % below
    };
    let texts: Vec<String> = (0..800)
        .map(|_| (0..=random(12)).map(|_| parts[random(parts.len())]).collect())
        .collect();
    let hex = HEXLOWER.encode(serde_json::to_string(&texts).unwrap().as_bytes());
    let by_erb = output(&format!(
        "<% texts = JSON.parse(['{hex}'].pack('H*')) %><%= texts.map {{ |text|
            begin
              eval(ERB.new(text, trim_mode: '-').src, Class.new {{ def clean = binding }}.new.clean, 'app/file.erb', 0).to_s
            rescue Exception
              nil
            end
        }}.to_json %>"
    ));
    let by_erb: Vec<Option<String>> =
        serde_json::from_str(&by_erb).unwrap_or_else(|error| panic!("{error}: {by_erb:.300}"));
    let fine = by_erb.iter().flatten().count();
    assert!(fine > 300 && fine < texts.len(), "{fine}");
    for (text, wanted) in texts.iter().zip(by_erb) {
        let reply = render(text);
        assert_eq!(
            reply.files.first().map(|(_, content)| content.clone()),
            wanted,
            "{text:?}"
        );
    }
}

#[test]
fn no_template_reaches_the_renderer() {
    let evil = "module ::Boson; class Renderer; def files = [['app/b', 'evil'], ['app/a', 'evil']]; end; end";
    for (text, refused) in [
        (evil, false),
        ("::Boson::Renderer", true),
        ("Object.const_get(:Boson)", true),
        ("Memory", true),
        ("TOPLEVEL_BINDING.eval('renderer').class.name", true),
        ("ObjectSpace.each_object(Module).to_a.size", true),
        ("Object.subclasses", true),
        ("TracePoint.new(:return) { }", true),
        ("set_trace_func(nil)", true),
        ("Random.method(:new).to_proc.binding.eval('Sealed')", true),
        ("Kernel.instance_method(:open).bind_call(self, 'x').binding", true),
        (
            "ObjectSpace.singleton_class.send(:remove_method, :each_object); ObjectSpace.each_object(Module).to_a",
            true,
        ),
        ("self.class.superclass.class_eval { def p(*) = 'evil' }", true),
        ("Bosh::Common::Template.fresh_context({})", true),
    ] {
        let first = format!("<% {text} %>1");
        let templates = [("app/a", first.as_str()), ("app/b", "<%= p('port') %>")];
        let reply = renderer().render(&templates, CONTEXT).unwrap();
        let shown = format!("{text}: {:?} {:?}", reply.files, reply.diagnostics);
        assert_eq!(reply.files.is_empty(), refused, "{shown}");
        assert!(!shown.replace(text, "").contains("evil"), "{shown}");
        if !refused {
            assert_eq!(
                reply.files,
                [("app/a".into(), "1".into()), ("app/b".into(), "8080".into())],
                "{shown}"
            );
        }
    }
    // A template may define any number of constants.
    assert_eq!(
        output("<% module Boson; NAME = 1; end %><%= Boson::NAME %><%= defined?(::Boson).inspect %>"),
        "1nil"
    );
}

#[test]
fn an_everyday_template_stays_cheap() {
    // Fuel is counted, not timed. A third more would mean that unused objects are created.
    let fuel = |text: &str| {
        let context = r#"{"name": "web", "index": 0, "properties": {"port": 8080}}"#;
        renderer().render(&[("app/file.erb", text)], context).unwrap().fuel
    };
    let trivial = fuel("x");
    assert!(trivial < 1_200_000, "{trivial}");
    let everyday = fuel(&"<% if_p('port') do |port| -%>\nport: <%= port %>\n<% end -%>\n".repeat(50));
    eprintln!("fuel of a trivial template {trivial}, of 150 lines {everyday}");
    assert!(everyday < 22_000_000, "{everyday}");
}

// Rows of docs/differences.md: a `def`, a class or an instance variable of one template; `puts`, `warn`.
#[test]
fn templates_of_a_job_do_not_touch_each_other() {
    let templates = [
        (
            "app/a",
            "<% class Peer < String; end; @kept = 1; def helper = 1; LIMIT = 5; raw_properties['port'] = 1; p('list') << 9 %><%= p('port') %>",
        ),
        (
            "app/b",
            "<% class Peer; def helper = 2; end; LIMIT = 6 %><%= p('port') %> <%= Peer.new.helper %> <%= p('list').size %><%= @kept %>",
        ),
        ("app/c", "<%= helper %>"),
        ("app/d", "<%= defined?(Peer).inspect %><% puts 'hi' %>"),
    ];
    let reply = renderer().render(&templates[..2], CONTEXT).unwrap();
    assert_eq!(
        reply.files,
        [("app/a".into(), "1".into()), ("app/b".into(), "8080 2 2".into())]
    );

    let reply = renderer().render(&templates, CONTEXT).unwrap();
    assert!(reply.files.is_empty(), "no file where one template fails");
    let reported: Vec<_> = reply
        .diagnostics
        .iter()
        .map(|found| (found.severity.as_str(), found.code.as_str(), found.document.as_deref()))
        .collect();
    assert_eq!(
        reported,
        [
            ("error", "render-template-failed", Some("app/c")),
            ("info", "render-template-printed", Some("app/d"))
        ]
    );
    assert!(
        reply.diagnostics[0]
            .message
            .contains("undefined local variable or method 'helper'")
    );
    assert_eq!(reply.diagnostics[0].class.as_deref(), Some("NameError"));
}

#[test]
fn an_exception_whose_class_has_no_readable_name_is_an_error_of_its_template() {
    for raise in [
        r#"c = Class.new(StandardError) { def self.to_s = "\xff"; def self.name = raise }; raise c, 'gone'"#,
        r#"def JSON.generate(*) = raise; raise 'gone'"#,
    ] {
        let (code, _, message) = error(&format!("<% {raise} %>"));
        assert_eq!(
            (code.as_str(), message.as_str()),
            ("render-template-failed", "gone"),
            "{raise}"
        );
    }
}

#[test]
fn errors_of_all_templates_come_together() {
    let templates = [
        ("app/a", "<%= p('x') %>"),
        ("app/b", "fine"),
        ("app/c", "\n<%= link('y') %>"),
    ];
    let reply = renderer().render(&templates, CONTEXT).unwrap();
    let reported: Vec<_> = reply
        .diagnostics
        .iter()
        .map(|found| (found.document.as_deref(), found.line))
        .collect();
    assert_eq!(reported, [(Some("app/a"), Some(1)), (Some("app/c"), Some(2))]);
}

#[test]
fn the_same_call_costs_and_gives_the_same() {
    let text = "<%= {a: Object.new.object_id, h: 'x'.hash, t: Time.now.to_f} %><%= p('zone').to_yaml %>";
    let (first, second) = (render(text), render(text));
    assert_eq!(first.files, second.files);
    assert_eq!(first.fuel, second.fuel);
    eprintln!("fuel {} instantiation {:?}", first.fuel, first.instantiation);
}

#[test]
fn large_documents_pass() {
    let properties: Vec<String> = (0..20_000)
        .map(|n| format!("\"key{n}\": {{\"a\": \"{}\", \"b\": {n}}}", "v".repeat(30)))
        .collect();
    let context = format!("{{\"name\": \"web\", \"properties\": {{{}}}}}", properties.join(","));
    assert!(context.len() > 1_000_000);
    let reply = renderer()
        .render(
            &[("app/file", "<%= p('key19999.b') %> <%= raw_properties.to_json %>")],
            &context,
        )
        .unwrap();
    assert!(
        reply.files[0].1.starts_with("19999 {\"key0\":{\"a\":"),
        "{:?}",
        reply.diagnostics
    );
    assert!(reply.files[0].1.len() > 1_000_000);
    eprintln!("fuel of a {} kB context: {}", context.len() / 1000, reply.fuel);

    let text = "x".repeat(3_000_000);
    assert_eq!(
        renderer().render(&[("app/file", &text)], "{}").unwrap().files[0]
            .1
            .len(),
        text.len()
    );
}

// Row of docs/differences.md: a template that never ends (the golden cases `templates/*-beside-others` check that it is
// named).
#[test]
fn what_never_ends_runs_out_of_fuel_and_what_never_stops_growing_out_of_memory() {
    let endless = renderer().render_with(&[("app/file", "<% loop { } %>")], CONTEXT, &[], 1_000_000_000);
    assert!(format!("{:?}", endless.err().unwrap()).contains("fuel"));
    let (code, ..) = error("<% all = []; loop { all << ('x' * 10_000_000) } %>");
    assert_eq!(code, "render-out-of-memory");
}

#[test]
fn calls_nest_deep_enough_for_data_and_trap_where_the_interpreter_gives_up() {
    // A method that calls itself ends in Ruby's own error (above). Through blocks it reaches the end of the
    // interpreter's buffer for stack frames first: that is a trap, which the host reports.
    let nested = |depth: u32| {
        format!(
            "<% f = ->(n) {{ n == 0 ? 0 : [1].map {{ begin; f.(n - 1); rescue IOError; end }} }}; f.({depth}) %>fine"
        )
    };
    assert_eq!(output(&nested(40)), "fine");
    let trap = renderer()
        .render(&[("app/file", &nested(100_000))], CONTEXT)
        .err()
        .unwrap();
    assert!(format!("{trap:?}").contains("nested too deep"), "{trap:?}");
}

// CRuby leaked some hundred bytes of the stack and a buffer of 24 kB with each of these.
#[test]
fn what_leaves_a_block_takes_no_memory_for_good() {
    for exit in [
        "begin; raise 'x'; rescue; end",
        "begin; [1].each { raise 'x' }; rescue; end",
        "[1].each { break }",
        "for item in [1]; break; end",
        "catch(:done) { [1].each { throw :done } }",
        "[1].each { next }",
        "(-> { [1].each { return } }).call",
        "begin; Integer('x'); rescue; begin; [1].map { Integer('y') }; rescue; end; ensure; 1; end",
    ] {
        let text = format!("<% 100_000.times {{ {exit} }} %>fine");
        assert_eq!(output(&text), "fine", "{exit}");
    }
}

#[test]
fn fibers_that_end_take_no_memory_for_good() {
    for fiber in [
        "Fiber.new { 1 }.resume",
        "begin; Fiber.new { raise 'x' }.resume; rescue; end",
    ] {
        let text = format!("<% 20_000.times {{ {fiber} }} %>fine");
        assert_eq!(output(&text), "fine", "{fiber}");
    }
}

#[test]
fn a_member_that_must_be_known_is_refused() {
    let reply = |more: &[&str]| {
        renderer()
            .render_with(&[("app/file", "text")], CONTEXT, more, FUEL)
            .unwrap()
    };
    let refused = reply(&["odd", "required-odd"]);
    assert_eq!(refused.diagnostics[0].code, "render-required-member");
    assert!(refused.diagnostics[0].message.contains("'required-odd'"), "{refused:?}");
    assert_eq!(reply(&["odd"]).files.len(), 1);
}

#[test]
fn odd_contexts_are_refused_in_words() {
    for (context, message) in [
        (
            "[]",
            "Invalid spec provided for template evaluation context, Hash expected, Array given",
        ),
        ("{\"password\": s3cret}", "The context is no JSON document"),
    ] {
        let reply = renderer().render(&[("app/file", "x")], context).unwrap();
        assert_eq!(
            (
                reply.diagnostics[0].code.as_str(),
                reply.diagnostics[0].message.as_str()
            ),
            ("render-context-invalid", message)
        );
    }
    let reply = renderer().render(&[], "{}").unwrap();
    assert!(reply.files.is_empty() && reply.diagnostics.is_empty());
}

#[test]
fn the_description_names_every_code() {
    let description = renderer().describe().unwrap();
    assert_eq!(string(member(&description, "name")), "render");
    assert_eq!(string(member(&description, "version")), env!("CARGO_PKG_VERSION"));
    let codes: Vec<_> = list(member(&description, "codes"))
        .iter()
        .map(|code| string(member(code, "name")))
        .collect();
    for script in boson_render::SCRIPTS {
        for word in script
            .text
            .split(|letter: char| !(letter.is_ascii_lowercase() || letter == '-'))
        {
            assert!(
                !word.starts_with("render-") || codes.iter().any(|code| code == word),
                "{word} is not described"
            );
        }
    }
}
