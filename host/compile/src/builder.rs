//! The programs that build images, and how each is called.

use crate::codes;
use boson_oci::Image;
use boson_pipeline::Diagnostic;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first that works.
    Auto,
    Only(Builder),
}

/// A program that builds images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builder {
    Buildah,
    Podman,
    Docker,
    /// `buildctl`, with the daemon at BUILDKIT_HOST.
    Buildkit,
}

pub struct Build<'b> {
    /// Directory with the Dockerfile and the files that it names.
    pub context: &'b Path,
    /// The tar that is made of the last stage.
    pub out: &'b Path,
    /// Gets the ID of the image that buildah and podman store besides the tar.
    pub id: &'b Path,
    pub network: bool,
    /// An image layout of the stemcell, and the digest of its manifest: BuildKit reads it at each build.
    pub layout: (&'b Path, &'b str),
}

/// The name of the stemcell's image in a build of BuildKit.
const STEMCELL_CONTEXT: &str = "boson-stemcell";

/// Containers without their own namespaces: buildah refuses to separate their network.
const ISOLATION_VARIABLE: &str = "BUILDAH_ISOLATION";

// === impl Choice ===

impl Choice {
    /// Reads `auto`, or the name of a builder.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "auto" {
            return Some(Self::Auto);
        }
        let found = Builder::ALL.into_iter().find(|builder| builder.name() == text);
        found.map(Self::Only)
    }

    /// A builder that works.
    ///
    /// # Errors
    /// `compile-no-builder`
    pub fn find(self) -> Result<Builder, Diagnostic> {
        let candidates: Vec<Builder> = match self {
            Self::Auto => Builder::ALL.to_vec(),
            Self::Only(builder) => vec![builder],
        };
        if let Some(builder) = candidates.iter().find(|builder| builder.works()) {
            return Ok(*builder);
        }
        let names: Vec<&str> = candidates.iter().map(|builder| builder.program()).collect();
        let message = format!(
            "packages must be compiled, but there is no {} that works",
            names.join(", ")
        );
        Err(Diagnostic::error(codes::COMPILE_NO_BUILDER, message).help(
            "install a builder, such as buildah (docker also needs its plugin buildx); or write a build context for another one: --context DIR; or use a \
             compiled release: bosh export-release NAME/VERSION OS/STEMCELL-VERSION",
        ))
    }
}

// === impl Builder ===

impl Builder {
    /// In the order in which they are tried: those without a daemon first.
    const ALL: [Self; 4] = [Self::Buildah, Self::Podman, Self::Docker, Self::Buildkit];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Buildah => "buildah",
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::Buildkit => "buildkit",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Buildkit => "buildctl",
            other => other.name(),
        }
    }

    /// Whether it is installed, and its daemon answers. docker 23 and later cannot build without its plugin buildx,
    /// which is a package of its own.
    fn works(self) -> bool {
        let calls: &[&[&str]] = match self {
            Self::Buildah | Self::Podman => &[&["--version"]],
            Self::Docker => &[&["version", "--format", "{{.Server.Version}}"], &["build", "--help"]],
            Self::Buildkit => &[&["debug", "workers"]],
        };
        calls.iter().all(|arguments| {
            let mut command = self.run();
            command.args(*arguments).stdin(Stdio::null());
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        })
    }

    fn run(self) -> Command {
        let mut command = Command::new(self.program());
        if self == Self::Docker {
            command.env("DOCKER_BUILDKIT", "1");
        }
        command
    }

    /// How it stores the stemcell's image from an archive; `None` if it reads a layout at each build. The last line of
    /// the output is the image's name in a Dockerfile. Buildah would name an image from a layout by its path, which may
    /// be no name of an image.
    pub fn load(self, archive: &Path) -> Option<Command> {
        let mut command = Command::new(self.program());
        match self {
            Self::Buildah | Self::Podman => {
                let source = with_path("docker-archive:", archive);
                command.args(["pull", "--quiet"]).arg(source);
            }
            Self::Docker => drop(command.args(["load", "--quiet", "--input"]).arg(archive)),
            Self::Buildkit => return None,
        }
        Some(command)
    }

    /// The name of the stemcell's image in a Dockerfile. `said`: the last line of the output of [`Self::load`].
    pub fn stemcell<'s>(self, image: &'s Image, said: &'s str) -> &'s str {
        match self {
            Self::Buildah | Self::Podman => said,
            Self::Docker => &image.name,
            Self::Buildkit => STEMCELL_CONTEXT,
        }
    }

    /// The command that builds. It stores no layers: results are cached by fingerprint, and layers of compilations
    /// would fill the disk.
    pub fn command(self, build: &Build<'_>) -> Command {
        let out = with_path("type=tar,dest=", build.out);
        match self {
            Self::Buildah | Self::Podman => self.rootless(build, &out),
            Self::Docker => {
                let mut command = self.run();
                command.args(["build", "--progress", "plain", "--no-cache"]);
                if !build.network {
                    command.args(["--network", "none"]);
                }
                command.arg("--output").arg(out).arg(build.context);
                command
            }
            Self::Buildkit => self.buildkit(build, &out),
        }
    }

    fn rootless(self, build: &Build<'_>, out: &OsString) -> Command {
        let chroot = std::env::var_os(ISOLATION_VARIABLE).is_some_and(|value| value == "chroot");
        let mut command = if chroot && !build.network {
            // The builder refuses `--network none` for this isolation, so it gets a network namespace as a whole.
            let mut command = Command::new("unshare");
            command.args(["--net", "--", self.program()]);
            command
        } else {
            Command::new(self.program())
        };
        let network = if build.network || chroot { "host" } else { "none" };
        command
            .args([
                "build",
                "--layers=false",
                "--no-cache",
                "--force-rm",
                "--pull=false",
                "--network",
                network,
            ])
            .arg("--iidfile")
            .arg(build.id)
            .arg("--output")
            .arg(out)
            .arg(build.context);
        command
    }

    fn buildkit(self, build: &Build<'_>, out: &OsString) -> Command {
        let (layout, digest) = build.layout;
        let mut command = Command::new(self.program());
        command.args([
            "build",
            "--progress",
            "plain",
            "--no-cache",
            "--frontend",
            "dockerfile.v0",
        ]);
        for name in ["context=", "dockerfile="] {
            command.arg("--local").arg(with_path(name, build.context));
        }
        command
            .arg("--oci-layout")
            .arg(with_path(&format!("{STEMCELL_CONTEXT}="), layout));
        command.args([
            "--opt",
            &format!("context:{STEMCELL_CONTEXT}=oci-layout://{STEMCELL_CONTEXT}@{digest}"),
        ]);
        if !build.network {
            command.args(["--opt", "force-network-mode=none"]);
        }
        command.arg("--output").arg(out);
        command
    }

    /// Deletes the image that a build has left in the builder's storage.
    pub fn clean(self, id: &Path) {
        if !matches!(self, Self::Buildah | Self::Podman) {
            return;
        }
        if let Ok(image) = std::fs::read_to_string(id) {
            let mut command = Command::new(self.program());
            command.args(["rmi", image.trim()]).stdin(Stdio::null());
            // It takes space, but nothing depends on it.
            let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }

    /// The error if it cannot be started.
    pub fn start_error(self, error: &io::Error) -> Diagnostic {
        let message = format!("'{}' cannot be started: {error}", self.program());
        Diagnostic::error(codes::COMPILE_BUILDER, message)
    }

    /// The error if it cannot read the stemcell's image.
    pub fn stemcell_error(self, log: &Path, last: &str) -> Diagnostic {
        let message = format!("'{}' cannot read the stemcell image:{last}", self.program());
        Diagnostic::error(codes::COMPILE_BUILDER, message).help(format!("the whole output is in '{}'", log.display()))
    }
}

fn with_path(before: &str, path: &Path) -> OsString {
    let mut text = OsString::from(before);
    text.push(path);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(builder: Builder, network: bool) -> String {
        let build = Build {
            context: Path::new("/c"),
            out: Path::new("/o.tar"),
            id: Path::new("/id"),
            network,
            layout: (Path::new("/l"), "sha256:ab"),
        };
        let command = builder.command(&build);
        let arguments = command.get_args().map(|one| one.to_string_lossy().into_owned());
        arguments.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn no_builder_has_a_network_unless_it_is_asked_for() {
        for builder in Builder::ALL {
            let (off, on) = (text(builder, false), text(builder, true));
            let says = |text: &str| text.contains("--network none") || text.contains("force-network-mode=none");
            assert!(says(&off) && !says(&on), "{off}\n{on}");
            assert!(off.contains("type=tar,dest=/o.tar"), "{off}");
            assert_eq!(Choice::parse(builder.name()), Some(Choice::Only(builder)));
        }
        assert_eq!(Choice::parse("kaniko"), None);
    }
}
