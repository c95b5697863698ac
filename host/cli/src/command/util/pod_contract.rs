//! Whether this image serves the pod that it runs in: see [`boson_manifest::pod_contract`].

use crate::codes;
use boson_manifest::pod_contract::{OLDEST_VERSION, POD_CONTRACT_VERSION, VERSION_VARIABLE};
use boson_pipeline::Diagnostic;

/// Checks the pod contract version that the pod was created for. Outside a pod, no version is set.
///
/// # Errors
/// This image does not serve it.
pub fn check() -> Result<(), Diagnostic> {
    match std::env::var(VERSION_VARIABLE) {
        Ok(text) => check_version(&text),
        Err(_) => Ok(()),
    }
}

fn check_version(text: &str) -> Result<(), Diagnostic> {
    let asked: Option<u32> = text.parse().ok();
    if asked.is_some_and(|asked| (OLDEST_VERSION..=POD_CONTRACT_VERSION).contains(&asked)) {
        return Ok(());
    }
    let ours = match OLDEST_VERSION {
        POD_CONTRACT_VERSION => format!("version {POD_CONTRACT_VERSION}"),
        _ => format!("versions {OLDEST_VERSION} to {POD_CONTRACT_VERSION}"),
    };
    let host = env!("CARGO_PKG_VERSION");
    let text: String = text.chars().take(20).collect();
    let message = format!("this pod needs version '{text}' of the pod contract, but host {host} supports {ours}");
    let error = Diagnostic::error(codes::POD_CONTRACT, message);
    Err(error.help("set `--operator-image` to an image of the operator's version"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::arguments::Arguments;
    use clap::{Arg, CommandFactory};

    const FILE: &str = "../../docs/reference/pod-contract.md";

    const HEAD: &str = "# The pod contract

Look up the commands of the operator's image that pods run. If you change a command, or a document that a command reads
or writes, so that an older image would not understand it, increment `POD_CONTRACT_VERSION` in
`plugins/lib/manifest/src/pod_contract.rs`. This page is generated from the program: `BLESS=1 cargo test --release
--workspace --locked --bin host` rewrites it.
";

    fn line(arg: &Arg) -> String {
        let option = arg
            .get_long()
            .map_or_else(|| arg.get_id().to_string(), |long| format!("--{long}"));
        let variable = arg.get_env().map(|name| format!(" (`{}`)", name.to_string_lossy()));
        let required = if arg.is_required_set() { ", required" } else { "" };
        format!("- `{option}`{}{required}\n", variable.unwrap_or_default())
    }

    fn page() -> String {
        let (newest, oldest) = (POD_CONTRACT_VERSION, OLDEST_VERSION);
        let mut page = format!("{HEAD}\nThis is version {newest}. It supports pods of version {oldest} and later.\n");
        let mut all = Arguments::command();
        all.build();
        let util = all.find_subcommand("util").unwrap();
        for command in util.get_subcommands().filter(|command| command.get_name() != "help") {
            page.push_str(&format!("\n## host util {}\n\n", command.get_name()));
            let own = command
                .get_arguments()
                .filter(|arg| !arg.is_global_set() && arg.get_id() != "help");
            page.extend(own.map(line));
        }
        page
    }

    #[test]
    fn the_contract_is_as_written_down() {
        let page = page();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(FILE, &page).unwrap();
        }
        let found = std::fs::read_to_string(FILE).unwrap_or_default();
        assert!(found == page, "{FILE} says what to do:\n{page}");
    }

    #[test]
    fn only_versions_that_this_image_knows_are_served() {
        for version in [OLDEST_VERSION, POD_CONTRACT_VERSION] {
            assert!(check_version(&version.to_string()).is_ok());
        }
        for text in [
            (POD_CONTRACT_VERSION + 1).to_string(),
            (OLDEST_VERSION - 1).to_string(),
            "x".into(),
            String::new(),
        ] {
            let error = check_version(&text).unwrap_err();
            assert!(error.message.contains(&format!("'{text}'")), "{}", error.message);
        }
    }
}
