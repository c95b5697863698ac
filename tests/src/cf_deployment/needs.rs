//! What some jobs of cf-deployment need of a VM: files with the same needs, for their small releases.

#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Packages that its spec lists.
    pub packages: &'static [&'static str],
    /// Properties of its spec, with their defaults in JSON.
    pub properties: &'static [(&'static str, &'static str)],
    /// Templates, by their destinations.
    pub files: &'static [(&'static str, &'static str)],
    /// Members of its process in bpm.yml.
    pub process: &'static str,
}

const PARAMETERS: &str =
    "#!/bin/bash -e\n<% if p('set_kernel_parameters') %>\necho 1 > /proc/sys/net/ipv4/tcp_tw_reuse\n<% end %>\n";
const HOOK: &str = "  hooks: {pre_start: /var/vcap/jobs/NAME/bin/hook}\n";
const SET: &[(&str, &str)] = &[("set_kernel_parameters", "true")];
const PRIVILEGED: &str = "  unsafe: {privileged: true}\n";

/// Those of a job.
pub(super) fn of(job: &str) -> Needs {
    match job {
        "bbs" | "locket" | "file_server" => Needs {
            properties: SET,
            files: &[("bin/hook", PARAMETERS)],
            process: HOOK,
            ..Needs::default()
        },
        "gorouter" => Needs {
            properties: &[("router.set_kernel_parameters", "true")],
            files: &[(
                "bin/pre-start",
                "#!/bin/bash\n<% if p('router.set_kernel_parameters') %>\necho 5 > /proc/sys/net/ipv4/tcp_fin_timeout\n<% end %>\n",
            )],
            ..Needs::default()
        },
        "valkey" => Needs {
            files: &[("bin/hook", "#!/bin/bash\nsysctl -w vm.overcommit_memory=1\n")],
            process: HOOK,
            ..Needs::default()
        },
        "cc_uploader" => Needs {
            files: &[(
                "bin/pre-start",
                "#!/bin/bash\nsysctl -e -w net.ipv4.tcp_fin_timeout=10\n",
            )],
            ..Needs::default()
        },
        "cloud_controller_ng" => Needs {
            packages: &["nginx", "nginx_newrelic_plugin"],
            files: &[(
                "bin/pre-start",
                "#!/bin/bash\nmkdir -p /var/vcap/packages/nginx/proxy_temp\ncp /tmp/a /var/vcap/packages/nginx_newrelic_plugin/config\n",
            )],
            ..Needs::default()
        },
        "blobstore" => Needs {
            packages: &["nginx_webdav"],
            files: &[(
                "bin/pre-start",
                "#!/bin/bash\nchown vcap /var/vcap/packages/nginx_webdav\n",
            )],
            ..Needs::default()
        },
        _ => of_cell(job),
    }
}

fn of_cell(job: &str) -> Needs {
    match job {
        "cflinuxfs4-rootfs-setup" => Needs {
            packages: &["cflinuxfs4"],
            files: &[(
                "bin/pre-start",
                "#!/bin/bash\ntouch /var/vcap/packages/cflinuxfs4/rootfs.tar\n",
            )],
            ..Needs::default()
        },
        "garden" => Needs {
            process: PRIVILEGED,
            ..Needs::default()
        },
        "garden-cni" => Needs {
            packages: &["runc-cni"],
            ..Needs::default()
        },
        "rep" => Needs {
            packages: &["healthcheck", "proxy"],
            properties: SET,
            files: &[(
                "bin/hook",
                "#!/bin/bash\n<% if p('set_kernel_parameters') %>\nmodprobe nf_conntrack\n<% end %>\nmount --make-shared /var/vcap/data/rep/shared\n",
            )],
            process: HOOK,
        },
        "silk-cni" => Needs {
            packages: &["silk-cni"],
            properties: &[("dns_servers", "[]")],
            ..Needs::default()
        },
        "silk-daemon" => Needs {
            files: &[("bin/pre-start", "#!/bin/bash\nip link del dev flannel.1\n")],
            process: PRIVILEGED,
            ..Needs::default()
        },
        "bosh-dns-adapter" => Needs {
            files: &[(
                "dns/handlers.json",
                r#"[{"domain": "apps.internal.", "source": {"type": "http", "url": "http://127.0.0.1:8053"}}]"#,
            )],
            ..Needs::default()
        },
        _ => Needs::default(),
    }
}
