//! The text of Dockerfiles. Names of packages and fingerprints consist of letters, digits, `-`, `_`, `+` and `.` only,
//! so they need no quotes.

use boson_images::VCAP_GROUP_ID;
use boson_releases::{Package, Source};

const COMPILE_PATH: &str = "/var/vcap/data/compile";
/// Where images of releases have packages.
const PACKAGES_SRC_PATH: &str = "/var/vcap/packages-src";
const PACKAGES_PATH: &str = "/var/vcap/packages";
/// The number that a director appends to the fingerprint: it counts compilations, and here there is one.
const BUILD_NUMBER: u32 = 1;

pub fn install_path(package: &Package) -> String {
    format!("{PACKAGES_SRC_PATH}/{}/{}", package.name, package.fingerprint)
}

/// Where the sources of a package are, in the archive of its sources.
pub fn source_path(package: &Package) -> String {
    format!("{COMPILE_PATH}/{}", package.name)
}

/// Compiles one package. The context contains `source.tar`, and `dependency-<n>.tar.gz` for each dependency. The result
/// is a file `package.tar` in a directory with the name of this build. Otherwise, two builds of a package could have
/// the same layer, and the storage of buildah and podman would lose it for one while it is deleted for the other.
pub fn package(stemcell: &str, package: &Package, dependencies: usize, build: &str) -> String {
    let mut text = format!("FROM {stemcell} AS compiled\nADD source.tar /\n");
    for nth in 0..dependencies {
        text.push_str(&format!("ADD dependency-{nth}.tar.gz /\n"));
    }
    text.push_str(&script(package));
    text.push_str(&format!("RUN tar -C {} -cf /package.tar .\n", install_path(package)));
    text.push_str(&format!(
        "FROM scratch AS package\nCOPY --from=compiled /package.tar /{build}/package.tar\n"
    ));
    text
}

/// Runs the script of a package as the agent does. Builders read output and errors from two pipes and mix up their
/// order, so the script writes both to one.
fn script(package: &Package) -> String {
    let Package { name, fingerprint, .. } = package;
    let (installed, compile) = (install_path(package), source_path(package));
    let script = Source::SCRIPT;
    format!(
        "RUN mkdir -p {installed} {PACKAGES_PATH} && ln -sfn {installed} {PACKAGES_PATH}/{name} && cd {compile} && \
         if [ -f {script} ]; then \
         BOSH_COMPILE_TARGET={compile} BOSH_INSTALL_TARGET={PACKAGES_PATH}/{name} \
         BOSH_PACKAGE_NAME={name} BOSH_PACKAGE_VERSION={fingerprint}.{BUILD_NUMBER} bash -x {script} 2>&1; fi\n"
    )
}

/// Builds the whole image, with a stage for each package. The context contains `source-<n>.tar` for each package,
/// `links.tar` and `jobs.tar.gz`.
pub fn release(stemcell: &str, packages: &[Package], labels: &[(&str, &str)]) -> String {
    let stage = |name: &str| packages.iter().position(|package| package.name == name);
    let mut text = format!("ARG STEMCELL={stemcell}\nFROM ${{STEMCELL}} AS stemcell\n");
    for (nth, package) in packages.iter().enumerate() {
        let Package { name, fingerprint, .. } = package;
        text.push_str(&format!(
            "\n# {name}/{fingerprint}\nFROM stemcell AS package-{nth}\nADD source-{nth}.tar /\n"
        ));
        let found = |name: &String| stage(name).and_then(|nth| Some((nth, packages.get(nth)?)));
        for (nth, dependency) in package.dependencies.iter().filter_map(found) {
            let (installed, name) = (install_path(dependency), &dependency.name);
            text.push_str(&format!("COPY --from=package-{nth} {installed}/ {installed}/\n"));
            text.push_str(&format!(
                "RUN mkdir -p {PACKAGES_PATH} && ln -sfn {installed} {PACKAGES_PATH}/{name}\n"
            ));
        }
        text.push_str(&script(package));
    }
    text.push_str("\nFROM stemcell\n");
    text.push_str(
        "RUN grep -q ^vcap: /etc/group || echo vcap:x:1000: >> /etc/group; \
         grep -q ^vcap: /etc/passwd || echo vcap:x:1000:1000:BOSH:/home/vcap:/bin/bash >> /etc/passwd\n",
    );
    for (nth, package) in packages.iter().enumerate() {
        let installed = install_path(package);
        text.push_str(&format!(
            "COPY --from=package-{nth} --chown=0:{VCAP_GROUP_ID} {installed}/ {installed}/\n"
        ));
    }
    text.push_str("ADD links.tar jobs.tar.gz /\n");
    for (label, value) in labels {
        text.push_str(&format!("LABEL {label}=\"{value}\"\n"));
    }
    text
}

/// The links of packages in an image: path, relative to `/`, and target.
pub fn links(packages: &[Package]) -> impl Iterator<Item = (String, String)> {
    let link = |package: &Package| {
        (
            format!("{}/{}", relative(PACKAGES_PATH), package.name),
            install_path(package),
        )
    };
    let data = ("var/vcap/data/packages".to_owned(), PACKAGES_SRC_PATH.to_owned());
    packages.iter().map(link).chain([data])
}

/// The path in an archive.
pub fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}
