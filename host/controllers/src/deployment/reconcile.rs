//! One reconcile of one deployment: what its parts share.

use super::context::Context;
use super::error::DeployError;
use super::plan::documents::Ownership;
use super::progress::Progress;
use boson_api::BoshDeployment;
use boson_api::deployment::ConversionMode;
use boson_budget::Share;
use boson_cluster::client::NamespacedName;
use boson_manifest::names::{NameError, Names};
use boson_pipeline::convert::codes;
use boson_pipeline::release::Release;
use boson_pipeline::report::Sources;
use boson_pipeline::stage::Deployment;
use boson_pipeline::{Diagnostic, Stage};
use boson_plugins::host::ResolvedPlugins;
use boson_plugins::{Copies, Pick};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// One reconcile of one deployment.
pub struct Reconcile<'a> {
    pub context: &'a Context,
    pub object: &'a BoshDeployment,
    pub namespace: &'a str,
    pub deployment: Deployment,
    /// Jobs without bpm information run by their monit files.
    pub by_monit: bool,
    pub mode: ConversionMode,
    pub names: Names,
    pub owner: OwnerReference,
    /// The plugins that convert this deployment.
    pub plugins: ResolvedPlugins,
    /// Copies of plugins that its pods mount.
    pub copies: Copies,
    pub progress: &'a Progress,
    /// The releases, once a step in this process has read them.
    pub releases: OnceCell<ReadReleases>,
    /// Names of the pull Secrets of the ServiceAccounts that a step has read.
    pub account_secrets: Mutex<HashMap<String, Vec<String>>>,
}

/// The plugins that convert a deployment.
pub struct ActivePlugins {
    pub resolved: ResolvedPlugins,
    /// Those of them that come from ConfigMaps.
    pub picks: Vec<Pick>,
}

/// Releases that were read, and their share of the memory budget.
pub struct ReadReleases {
    pub releases: Arc<Vec<Release>>,
    pub _share: Share,
}

// === impl Reconcile ===

impl<'a> Reconcile<'a> {
    /// Of this object, with these plugins.
    ///
    /// # Errors
    /// The object's name is too long to derive other names from.
    pub fn new(
        context: &'a Context,
        object: &'a BoshDeployment,
        namespace: &'a str,
        active: ActivePlugins,
        progress: &'a Progress,
    ) -> Result<Self, DeployError> {
        let settings = &context.conversion;
        let name = object.name_any();
        let names = Names::new(&name, namespace, &settings.cluster_domain).map_err(|error| name_error(&error))?;
        let conversion = object.spec.conversion.clone().unwrap_or_default();
        let in_pods: &[Stage] = match conversion.mode {
            ConversionMode::Jobs => &[Stage::Variables, Stage::Links, Stage::Render],
            ConversionMode::InProcess => &[Stage::Render],
        };
        let owner = object.controller_owner_ref(&());
        let owner = owner.ok_or_else(|| DeployError::defect("the BOSHDeployment has no UID"))?;
        Ok(Self {
            context,
            object,
            namespace,
            deployment: Deployment {
                name,
                namespace: namespace.to_string(),
                cluster_domain: settings.cluster_domain.clone(),
                operator_image: settings.operator_image.clone(),
                registry: conversion.registry,
                spread: conversion.instances.into(),
            },
            by_monit: conversion.monit,
            mode: conversion.mode,
            copies: boson_plugins::copies(&active.picks, in_pods, namespace, &names.deployment(), &owner),
            names,
            plugins: active.resolved,
            owner,
            releases: OnceCell::new(),
            account_secrets: Mutex::default(),
            progress,
        })
    }

    /// The Secrets between the steps of its conversion.
    pub fn ownership(&self) -> Ownership<'_> {
        Ownership {
            names: &self.names,
            namespace: self.namespace,
            owner: &self.owner,
        }
    }

    pub fn key(&self) -> NamespacedName {
        (self.namespace.to_string(), self.object.name_any())
    }

    /// The selector of all objects with the label of the deployment.
    pub fn selector(&self) -> String {
        self.ownership().selector()
    }
}

fn name_error(error: &NameError) -> DeployError {
    let error = Diagnostic::error(codes::CONVERT_NO_NAME, error.to_string());
    DeployError::invalid(vec![error], &Sources::default())
}
