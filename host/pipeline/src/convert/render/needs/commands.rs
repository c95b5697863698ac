//! What a command needs that a pod does not have.

use super::shell::Command;
use super::{Found, Need, is_literal, parameters};
use boson_manifest::packages::PACKAGES;
use std::path::Path;

/// Words before a command.
const WORDS_BEFORE_COMMANDS: [&str; 19] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "exec", "command", "builtin", "nohup",
    "eval", "sudo", "env", "xargs", "nice",
];

/// Commands that run another one, behind one argument.
const WRAPPERS_WITH_ARGUMENT: [&str; 2] = ["timeout", "flock"];

/// Directories that belong to the image of the container.
const IMAGE_FOLDERS: [&str; 10] = [
    "/etc",
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/opt",
    "/var/lib",
    "/var/vcap/bosh",
    PACKAGES,
];

/// Settings of login shells, which no process of a job reads.
const LOGIN_SHELL_FOLDER: &str = "/etc/profile.d";

/// What a command needs. `is_pre_start`: it runs in the container of a pre-start script.
pub(super) fn needs(command: &Command, is_pre_start: bool) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let (program, arguments) = program(&command.words).unwrap_or_default();
    let written = written(program, arguments);
    let files = || command.writes.iter().map(String::as_str).chain(written.iter().copied());
    found.extend(files().filter(|file| is_literal(file)).filter_map(parameters::of_file));
    let own = match program {
        "sysctl" => parameters::of_sysctl(arguments),
        "modprobe" | "insmod" => modules(program, arguments),
        "mount" => mounts(program, arguments),
        "umount" | "losetup" => of_program(Need::Mounts, program, !operands(arguments).is_empty()),
        "ulimit" => of_program(Need::Limits, program, raises_limit(arguments)),
        "prlimit" => of_program(
            Need::Limits,
            program,
            arguments.iter().any(|argument| argument.contains('=')),
        ),
        "iptables" | "ip6tables" | "iptables-restore" | "ip6tables-restore" | "ipset" | "nft" => {
            of_program(Need::Network, program, !arguments.is_empty())
        }
        "ip" => of_program(Need::Network, program, changes_network(arguments)),
        _ => Vec::new(),
    };
    found.extend(own);
    if is_pre_start {
        let lost = files().filter(|file| is_literal(file) && is_of_image(file));
        found.extend(lost.map(|written| Found {
            need: Need::LostFiles,
            written,
        }));
        found.extend(of_program(Need::LostFiles, program, changes_image(program, arguments)));
    }
    found
}

/// The program of a command, without its directory, and its arguments.
fn program(words: &[String]) -> Option<(&str, &[String])> {
    let mut rest = words;
    loop {
        let (first, arguments) = rest.split_first()?;
        let skipped = if WORDS_BEFORE_COMMANDS.contains(&first.as_str()) {
            let is_option = |word: &&String| word.starts_with('-') || *word == "{}";
            arguments.iter().take_while(is_option).count()
        } else if WRAPPERS_WITH_ARGUMENT.contains(&first.as_str()) {
            1 + arguments.iter().take_while(|word| word.starts_with('-')).count()
        } else if is_assignment(first) {
            0
        } else {
            return Some((name(first)?, arguments));
        };
        rest = arguments.get(skipped..)?;
    }
}

/// `NAME=value`
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// The name of a program. Scripts of jobs may have the name of another program.
fn name(word: &str) -> Option<&str> {
    let (directory, name) = word.rsplit_once('/').unwrap_or(("/bin", word));
    let is_of_system = directory.ends_with("bin") && !directory.starts_with("/var/vcap/jobs");
    is_of_system.then_some(name)
}

/// The arguments that are no options.
fn operands(arguments: &[String]) -> Vec<&str> {
    let operands = arguments.iter().map(String::as_str);
    operands.filter(|argument| !argument.starts_with('-')).collect()
}

fn has(arguments: &[String], any_of: &[&str]) -> bool {
    arguments.iter().any(|argument| any_of.contains(&argument.as_str()))
}

fn of_program(need: Need, program: &str, applies: bool) -> Vec<Found<'_>> {
    let found = Found { need, written: program };
    applies.then_some(found).into_iter().collect()
}

/// Files that a program writes, by its arguments.
fn written<'c>(program: &str, arguments: &'c [String]) -> Vec<&'c str> {
    let operands = operands(arguments);
    match program {
        "tee" | "touch" | "mkdir" => operands,
        "chown" | "chmod" | "chgrp" => operands.get(1..).unwrap_or_default().to_vec(),
        "cp" | "mv" | "ln" | "install" | "rsync" => {
            let directory = arguments
                .iter()
                .find_map(|argument| argument.strip_prefix("--target-directory="));
            let last = operands.get(1..).and_then(<[_]>::last).copied();
            directory.or(last).into_iter().collect()
        }
        "sed" if arguments.iter().any(|argument| argument.starts_with("-i")) => {
            operands.last().copied().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Modules that are loaded, not removed or only listed.
fn modules<'c>(program: &str, arguments: &'c [String]) -> Vec<Found<'c>> {
    const OPTIONS_THAT_LOAD_NONE: [&str; 9] = [
        "-r",
        "--remove",
        "-n",
        "--dry-run",
        "--show",
        "-c",
        "--showconfig",
        "-V",
        "--version",
    ];
    if has(arguments, &OPTIONS_THAT_LOAD_NONE) {
        return Vec::new();
    }
    let operands = operands(arguments);
    // What follows the name of a module are its parameters.
    let are_modules = has(arguments, &["-a", "--all"]);
    let count = if are_modules { operands.len() } else { 1 };
    let module = |operand: &'c str| {
        let name = operand.rsplit('/').next().unwrap_or(operand);
        match name.split_once(".ko") {
            Some((name, _)) if program == "insmod" => name,
            _ => name,
        }
    };
    let modules = operands.into_iter().take(count);
    modules
        .map(|operand| Found {
            need: Need::Modules,
            written: if is_literal(operand) { module(operand) } else { "" },
        })
        .collect()
}

/// `mount` without operands lists what is mounted.
fn mounts<'c>(program: &'c str, arguments: &[String]) -> Vec<Found<'c>> {
    let mut operands = 0;
    let mut is_value = false;
    for argument in arguments {
        operands += usize::from(!is_value && !argument.starts_with('-'));
        is_value = matches!(argument.as_str(), "-t" | "-o" | "-O" | "--types" | "--options");
    }
    of_program(Need::Mounts, program, operands > 0 || has(arguments, &["-a", "--all"]))
}

/// Whether `ulimit` sets one of the limits that a container may not have: open files, processes, locked memory.
fn raises_limit(arguments: &[String]) -> bool {
    let option = arguments.iter().find(|argument| argument.starts_with('-'));
    let is_limited = option.is_some_and(|option| option.contains(['n', 'u', 'l']));
    let is_value = |argument: &&str| *argument == "unlimited" || argument.starts_with(|c: char| c.is_ascii_digit());
    is_limited && operands(arguments).iter().any(is_value)
}

/// Whether `ip` changes something: `ip link add`, not `ip link show`.
fn changes_network(arguments: &[String]) -> bool {
    const CHANGING_SUBCOMMANDS: [&str; 8] = ["add", "append", "change", "del", "delete", "flush", "replace", "set"];
    operands(arguments)
        .get(1)
        .is_some_and(|action| CHANGING_SUBCOMMANDS.contains(action))
}

/// Whether a file or directory belongs to the image.
fn is_of_image(file: &str) -> bool {
    let path = Path::new(file);
    IMAGE_FOLDERS.iter().any(|directory| path.starts_with(directory)) && !path.starts_with(LOGIN_SHELL_FOLDER)
}

/// The package that a file belongs to.
pub(super) fn package(file: &str) -> Option<&str> {
    let inner = file.strip_prefix(PACKAGES)?.strip_prefix('/')?;
    inner.split('/').next().filter(|name| !name.is_empty())
}

/// Whether the program changes files of the image.
fn changes_image(program: &str, arguments: &[String]) -> bool {
    match program {
        "update-ca-certificates" | "ldconfig" | "useradd" | "adduser" | "usermod" | "groupadd" => true,
        "apt-get" | "apt" => has(arguments, &["install"]),
        "dpkg" => has(arguments, &["-i", "--install"]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell::commands;
    use super::*;

    fn found(text: &str, is_pre_start: bool) -> Vec<(Need, String)> {
        let mut all = Vec::new();
        for command in commands(text) {
            let found = needs(&command, is_pre_start);
            all.extend(found.into_iter().map(|found| (found.need, found.written.to_string())));
        }
        all
    }

    fn one(need: Need, written: &str) -> Vec<(Need, String)> {
        vec![(need, written.to_string())]
    }

    #[test]
    fn kernel_parameters_are_those_of_the_pod_or_of_the_node() {
        for (line, need, written) in [
            (
                "echo 10 > /proc/sys/net/ipv4/tcp_fin_timeout",
                Need::PodParameters,
                "/proc/sys/net/ipv4/tcp_fin_timeout",
            ),
            (
                "echo 1 | sudo tee -a /proc/sys/kernel/sem",
                Need::PodParameters,
                "/proc/sys/kernel/sem",
            ),
            (
                "sysctl -e -w net.ipv4.tcp_tw_reuse=1",
                Need::PodParameters,
                "net.ipv4.tcp_tw_reuse",
            ),
            (
                r#"sysctl -w "kernel.shmmax=284934144""#,
                Need::PodParameters,
                "kernel.shmmax",
            ),
            (
                "sysctl net/core/somaxconn=$n",
                Need::PodParameters,
                "net/core/somaxconn",
            ),
            (
                "/sbin/sysctl -w net.core.rmem_max=1",
                Need::NodeParameters,
                "net.core.rmem_max",
            ),
            (
                "sysctl -w vm.overcommit_memory=1",
                Need::NodeParameters,
                "vm.overcommit_memory",
            ),
            (
                "echo 1 > /proc/sys/net/netfilter/nf_conntrack_max",
                Need::NodeParameters,
                "/proc/sys/net/netfilter/nf_conntrack_max",
            ),
            (
                "echo 2147483647 > /proc/sys/fs/inotify/max_user_watches",
                Need::NodeParameters,
                "/proc/sys/fs/inotify/max_user_watches",
            ),
            (
                "if a; then echo never > /sys/kernel/mm/transparent_hugepage/enabled; fi",
                Need::NodeParameters,
                "/sys/kernel/mm/transparent_hugepage/enabled",
            ),
            ("sysctl --system", Need::NodeParameters, ""),
            ("sysctl -p /etc/sysctl.conf", Need::NodeParameters, ""),
        ] {
            assert_eq!(found(line, true), one(need, written), "{line}");
        }
        for line in [
            r#"echo "Not setting /proc/sys/ parameters""#,
            "# echo 1 > /proc/sys/net/ipv4/tcp_tw_reuse",
            "cat /proc/sys/net/core/somaxconn",
            "read -r limit < /proc/sys/fs/file-max",
            "sysctl -n net.core.somaxconn",
            "sysctl -w $name=1",
            "echo 1 > /proc/sys/net/ipv4/conf/$device/forwarding",
            "echo 1 > /sys/fs/cgroup/memory/tasks",
            "echo sysctl -w net.ipv4.tcp_tw_reuse=1",
            "cat <<EOF\nsysctl -w net.ipv4.tcp_tw_reuse=1\nEOF",
        ] {
            assert_eq!(found(line, true), [], "{line}");
        }
    }

    #[test]
    fn commands_need_the_kernel() {
        for (line, need, written) in [
            ("modprobe nf_conntrack hashsize=1", Need::Modules, "nf_conntrack"),
            ("x && /sbin/modprobe -q vxlan || true", Need::Modules, "vxlan"),
            ("insmod /lib/modules/a.ko.xz", Need::Modules, "a"),
            ("modprobe $module", Need::Modules, ""),
            ("mount -t tmpfs -o size=$size tmpfs $directory", Need::Mounts, "mount"),
            (
                "mount --make-shared /var/vcap/data/rep/shared/garden",
                Need::Mounts,
                "mount",
            ),
            ("mount -a", Need::Mounts, "mount"),
            ("xargs -I {} umount -f {} < list", Need::Mounts, "umount"),
            ("flock -x /lock mount a b", Need::Mounts, "mount"),
            ("device=$(losetup --find --show /file)", Need::Mounts, "losetup"),
            ("ulimit -n 100000", Need::Limits, "ulimit"),
            ("ulimit -Hn unlimited", Need::Limits, "ulimit"),
            ("prlimit --pid $$ --nofile=65536:65536", Need::Limits, "prlimit"),
            ("if ! iptables -C INPUT; then a; fi", Need::Network, "iptables"),
            ("PATH=/x:$PATH ipset create a", Need::Network, "ipset"),
            ("(ip link del dev flannel.1 || true) 2> /dev/null", Need::Network, "ip"),
            ("ip -6 route add default via ::1", Need::Network, "ip"),
            ("/usr/sbin/nft delete rule inet filter a", Need::Network, "nft"),
        ] {
            let first = found(line, true);
            assert_eq!(first, one(need, written), "{line}");
        }
        for line in [
            "if mount | grep -q $directory; then",
            "mount -l -t nfs",
            "mount() { true; }",
            "start|mount)",
            "options=(mount a b)",
            "modprobe -r vxlan",
            "ulimit -n",
            "ulimit -c unlimited",
            "ulimit -n $limit",
            "ip route get 1.1.1.1",
            "ip addr show dev eth0",
            "for interface in $(ip route show scope link | cut -f1); do",
            "/var/vcap/jobs/nfs/bin/mount a b",
            "./mount a b",
            "my-mount a b",
            "trap 'umount /x' EXIT",
            "command -v iptables",
            "type -p nft",
        ] {
            assert_eq!(found(line, true), [], "{line}");
        }
        assert_eq!(found("modprobe -a a b", false).len(), 2);
    }

    #[test]
    fn a_pre_start_script_loses_files_of_the_image() {
        for (line, written) in [
            ("ln -s /var/vcap/packages/nfs-debs/sbin/mount.nfs /sbin/", "/sbin/"),
            ("cp -f a b /etc/default/nfs-common", "/etc/default/nfs-common"),
            ("chown -R root:vcap /etc/x", "/etc/x"),
            ("chmod 440 /etc/sudoers.d/x", "/etc/sudoers.d/x"),
            ("install -m 0644 -D a /usr/share/a", "/usr/share/a"),
            ("echo x | tee /etc/x > /dev/null", "/etc/x"),
            ("cat << EOF > /etc/exports\na\nEOF", "/etc/exports"),
            ("sed -i -e s/a/b/ /etc/x", "/etc/x"),
            ("mkdir -p /var/vcap/packages/x/tmp", "/var/vcap/packages/x/tmp"),
            ("cp --target-directory=/usr/local/bin a", "/usr/local/bin"),
            ("touch /var/vcap/bosh/x", "/var/vcap/bosh/x"),
            ("update-ca-certificates -f", "update-ca-certificates"),
            ("id -u x &>/dev/null || useradd x --group vcap", "useradd"),
            ("dpkg -i /var/vcap/packages/x/a.deb", "dpkg"),
        ] {
            assert_eq!(found(line, true), one(Need::LostFiles, written), "{line}");
            assert_eq!(found(line, false), [], "{line}");
        }
        for line in [
            "cp /etc/hosts /var/vcap/data/x",
            "chown vcap:vcap /var/vcap/store/x $x",
            "ln -s /usr/x $target",
            "cp a /etc/$name",
            "cp /etc/x",
            "cat /etc/hosts > /dev/null",
            "sed s/a/b/ /etc/x",
            "cp a /etc/profile.d/jq.sh",
            "cp a /var/vcap/packages-src/x",
            "dpkg -l",
        ] {
            assert_eq!(found(line, true), [], "{line}");
        }
    }
}
