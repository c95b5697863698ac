//! `host operator`: runs the controllers against a cluster.

use super::signals::termination;
use crate::images::RegistryImages;
use crate::web::{Hosts, WebDocuments};
use boson_budget::Budget;
use boson_cluster::lease::Election;
use boson_cluster::metrics::Metrics;
use boson_cluster::namespaces::Namespaces;
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::{self, ExitError};
use boson_commands::files;
use boson_commands::memory;
use boson_commands::output::Color;
use boson_commands::registries::{self, AuthorityArguments, WithoutTlsArguments};
use boson_controllers::admission::{self, Way};
use boson_controllers::{Config, Conversion};
use boson_pipeline::bundle::Permissions;
use boson_pipeline::report::Sources;
use boson_pipeline::{Diagnostic, Stage};
use boson_plugin_tools::components::RegistryComponents;
use boson_plugin_tools::loaded::Loaded;
use boson_plugin_tools::plugin_arguments::{PermissionArguments, PluginArguments};
use boson_plugin_tools::plugins;
use boson_plugin_tools::signatures::{SignatureArguments, Signatures};
use boson_plugins::{PluginPolicy, PluginSources, PluginUpdates};
use boson_registry::{Registry, Settings};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// Run the operator: controllers that turn BOSHDeployments into Kubernetes objects
#[derive(Args, Debug)]
pub struct OperatorArguments {
    /// Serve these namespaces only
    #[arg(
        long = "namespace",
        value_name = "NAMESPACE",
        env = "BOSON_NAMESPACES",
        value_delimiter = ','
    )]
    namespaces: Vec<String>,
    /// Serve the namespaces labelled `quarks.cloudfoundry.org/monitored: ID`
    #[arg(
        long,
        value_name = "ID",
        env = "BOSON_MONITORED_ID",
        default_value = "boson",
        conflicts_with = "namespaces"
    )]
    monitored_id: String,
    /// Objects that one controller reconciles at a time
    #[arg(long, value_name = "NUMBER", env = "BOSON_CONCURRENCY", default_value_t = 8)]
    concurrency: u16,
    /// Namespace of the operator itself, which contains its Lease
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "BOSON_OPERATOR_NAMESPACE",
        default_value = "boson-system"
    )]
    operator_namespace: String,
    /// Domain of the cluster
    #[arg(
        long,
        value_name = "DOMAIN",
        env = "BOSON_CLUSTER_DOMAIN",
        default_value = "cluster.local"
    )]
    cluster_domain: String,
    /// Image with this program, for the init containers that render templates
    #[arg(long, value_name = "REFERENCE", default_value = concat!("ghcr.io/boson/host:", env!("CARGO_PKG_VERSION")), env = "BOSON_OPERATOR_IMAGE")]
    operator_image: String,
    /// Number of deployments that may roll instance groups with an older operator image at the same time, one group of
    /// each deployment at a time; 0 keeps the older image until the pod template changes for another reason
    #[arg(long, value_name = "NUMBER", env = "BOSON_ROLL_OUTDATED_GROUPS", default_value_t = 0)]
    roll_outdated_groups: u16,
    /// Unused versions of a Secret to retain besides the newest
    #[arg(long, value_name = "NUMBER", env = "BOSON_KEEP_VERSIONS", default_value_t = 2)]
    keep_versions: u16,
    /// Address that serves /live, /ready and /metrics
    #[arg(long, value_name = "ADDRESS", env = "BOSON_LISTEN", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// Allow documents of `type: url` from this host (HOST or HOST:PORT), over https [default: none]
    #[arg(
        long = "document-host",
        value_name = "HOST",
        env = "BOSON_DOCUMENT_HOSTS",
        value_delimiter = ','
    )]
    document_hosts: Vec<String>,
    /// Allow documents of `type: url` from this host over http, too
    #[arg(
        long = "document-host-without-tls",
        value_name = "HOST",
        env = "BOSON_DOCUMENT_HOSTS_WITHOUT_TLS",
        value_delimiter = ','
    )]
    document_hosts_without_tls: Vec<String>,
    /// Additional CA certificate for document hosts: a PEM file
    #[arg(long, value_name = "FILE", env = "BOSON_DOCUMENT_CA", value_delimiter = ',')]
    document_ca: Vec<PathBuf>,
    /// Signer of certificates with `signerType: cluster`: the built-in `quarks.cloudfoundry.org/boson`, or another one,
    /// for whose approval the operator waits [default: reject such certificates]
    #[arg(long, value_name = "NAME", env = "BOSON_SIGNER_NAME")]
    signer_name: Option<String>,
    /// Address that serves the webhooks for deployments and pods, or `off`
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "BOSON_WEBHOOK_LISTEN",
        default_value = "0.0.0.0:8443"
    )]
    webhook_listen: ListenAddress,
    /// Service in the operator's namespace through which the API server reaches the webhook
    #[arg(
        long,
        value_name = "NAME",
        env = "BOSON_WEBHOOK_SERVICE",
        default_value = "boson-webhook"
    )]
    webhook_service: String,
    /// URL at which the API server reaches the webhook of an operator outside of the cluster: https://HOST:PORT
    /// [default: through the Service]
    #[arg(long, value_name = "URL", env = "BOSON_WEBHOOK_URL", value_parser = webhook_url)]
    webhook_url: Option<String>,
    /// Give pods outside of deployments the links that they ask for by annotation, and roll their workloads when a link
    /// changes; needs the webhook and the permissions of deploy/links
    #[arg(long, env = "BOSON_POD_LINKS")]
    pod_links: bool,
    /// Cache directory for the content of release images, and for plugins from registries
    #[arg(
        long,
        value_name = "DIR",
        env = "BOSON_IMAGE_CACHE",
        default_value = "/var/cache/boson/images"
    )]
    image_cache: PathBuf,
    #[command(flatten)]
    without_tls: WithoutTlsArguments,
    /// Read release images and plugins from this registry only (HOST, HOST:PORT, HOST/PATH) [default: from all]
    #[arg(
        long,
        value_name = "REGISTRY",
        env = "BOSON_REGISTRY_ALLOWED",
        value_delimiter = ',',
        value_parser = registry
    )]
    registry_allowed: Vec<String>,
    #[command(flatten)]
    authorities: AuthorityArguments,
    #[command(flatten)]
    connection: ConnectionArguments,
    /// Which plugins from ConfigMaps to use
    #[arg(
        long = "plugins",
        value_enum,
        value_name = "SOURCE",
        default_value_t,
        env = "BOSON_PLUGINS",
        help_heading = "Plugins"
    )]
    sources: PluginSources,
    /// Require a digest for plugins that are pulled from registries; otherwise a tag is resolved once, and the result
    /// is recorded in the plugin's ConfigMap
    #[arg(long, env = "BOSON_PLUGINS_PINNED", help_heading = "Plugins")]
    plugins_pinned: bool,
    /// What happens with new versions of plugins from ConfigMaps
    #[arg(
        long = "plugin-updates",
        value_enum,
        value_name = "UPDATES",
        default_value_t,
        env = "BOSON_PLUGIN_UPDATES",
        help_heading = "Plugins"
    )]
    updates: PluginUpdates,
    #[command(flatten)]
    signatures: SignatureArguments,
    #[command(flatten)]
    plugins: PluginArguments,
    #[command(flatten)]
    allowed: PermissionArguments,
}

/// An address to listen on, or none.
#[derive(Clone, Copy, Debug)]
struct ListenAddress(Option<SocketAddr>);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        let address = text.parse();
        address
            .map(|address| Self(Some(address)))
            .map_err(|_| "expected an address, such as 0.0.0.0:8443, or 'off'".to_string())
    }
}

/// A malformed entry would match no registry, and so deny all of them silently.
fn registry(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains("://") || text.contains([' ', '*', '@']) {
        Err("expected HOST, HOST:PORT or HOST/PATH, without a scheme".to_string())
    } else {
        Ok(text.to_string())
    }
}

fn webhook_url(text: &str) -> Result<String, String> {
    match text.strip_prefix("https://") {
        Some(rest) if !rest.is_empty() && !rest.contains(['?', '#', '@']) => Ok(text.to_string()),
        _ => Err("expected an address that begins with https://, without query and user".to_string()),
    }
}

const LEASE_NAME: &str = "boson-operator";
/// Keys generated in advance: an authority's and a certificate's.
const SPARE_KEYS: usize = 2;

pub fn run(arguments: &OperatorArguments, color: Color) -> Result<(), ExitError> {
    let config = config(arguments, color)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let client = arguments.connection.client().await?;
        anyhow::Ok(boson_controllers::run(client, config, termination()).await?)
    });
    // The result of a conversion that still runs is not needed.
    runtime.shutdown_background();
    ended.map_err(|error| {
        // Into the log, not directly to standard error: collectors expect lines of one format.
        tracing::error!("{error:#}");
        ExitError::Input
    })
}

/// What the controllers need. From then on, panics are logged.
fn config(arguments: &OperatorArguments, color: Color) -> Result<Config, ExitError> {
    let mut sources = Sources::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let budget = Budget::of_many(memory::or_found(arguments.plugins.max_memory), cores);
    let signatures = Arc::new(arguments.signatures.read()?);
    let loaded = load(arguments, &budget, &signatures, &mut sources);
    let (rules, permissions) = loaded.map_err(|errors| arguments.plugins.failed(&errors, &sources, color))?;
    if arguments.pod_links && arguments.webhook_listen.0.is_none() {
        return Err(anyhow::anyhow!("--pod-links needs the webhook: set --webhook-listen, too").into());
    }
    let settings = Settings {
        allowed: arguments.registry_allowed.clone(),
        ..registries::settings(&arguments.without_tls, &arguments.authorities)?
    };
    let web = web_documents(arguments)?;
    let registry = Registry::new(arguments.image_cache.clone(), &settings);
    log_panics();
    let registry = registry.map_err(|error| exit::refused(&[error], &sources, color))?;
    Ok(Config {
        namespaces: namespaces(arguments),
        election: Election {
            namespace: arguments.operator_namespace.clone(),
            name: LEASE_NAME.to_string(),
            me: process_name(),
        },
        address: Some(arguments.listen),
        concurrency: arguments.concurrency,
        metrics: rules.metrics(),
        spare_keys: SPARE_KEYS,
        plugins: PluginPolicy {
            sources: arguments.sources,
            pinned: arguments.plugins_pinned,
            updates: arguments.updates,
        },
        conversion: Conversion {
            plugin_host: Arc::new(rules),
            components: Arc::new(RegistryComponents::new(registry.clone(), signatures)),
            images: Arc::new(RegistryImages(registry)),
            web: Arc::new(web),
            budget,
            cluster_domain: arguments.cluster_domain.clone(),
            operator_image: arguments.operator_image.clone(),
            roll_outdated: usize::from(arguments.roll_outdated_groups),
            keep_versions: usize::from(arguments.keep_versions),
            permissions,
        },
        signer: arguments.signer_name.clone(),
        admission: admission(arguments),
    })
}

/// The rules of the installation, and what they may make.
fn load(
    arguments: &OperatorArguments,
    budget: &Budget,
    signatures: &Arc<Signatures>,
    sources: &mut Sources,
) -> Result<(Loaded, Permissions), Vec<Diagnostic>> {
    let plugins = plugins::prepare_within(budget, &arguments.plugins, &Stage::ALL, sources)?;
    let rules = Loaded::new(plugins, signatures.clone(), Arc::new(Metrics::default()))?;
    Ok((rules, arguments.allowed.permissions()?))
}

fn web_documents(arguments: &OperatorArguments) -> anyhow::Result<WebDocuments> {
    let hosts = Hosts {
        allowed: arguments.document_hosts.iter().cloned().collect(),
        without_tls: arguments.document_hosts_without_tls.iter().cloned().collect(),
    };
    WebDocuments::new(hosts, &files::read_all(&arguments.document_ca)?)
}

fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // The panic's message may quote a value.
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a defect: the operator panicked");
    }));
}

fn namespaces(arguments: &OperatorArguments) -> Namespaces {
    match arguments.namespaces.as_slice() {
        [] => Namespaces::Monitored(arguments.monitored_id.clone()),
        names => Namespaces::Fixed(names.iter().cloned().collect()),
    }
}

fn admission(arguments: &OperatorArguments) -> Option<admission::Settings> {
    let listen = arguments.webhook_listen.0?;
    let way = match &arguments.webhook_url {
        Some(url) => Way::Url(url.clone()),
        None => Way::Service(arguments.webhook_service.clone()),
    };
    Some(admission::Settings {
        listen,
        way,
        links: arguments.pod_links,
    })
}

/// A unique name of this process: the pod's name, and a part that changes with each restart.
fn process_name() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "host".into());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{host}-{}-{}", std::process::id(), now.unwrap_or_default().as_millis())
}
