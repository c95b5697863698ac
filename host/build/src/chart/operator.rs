//! The operator's Deployment as a template, and the values that it has in `deploy/`.

use anyhow::{Context, Result, ensure};

use super::deploy::{Deploy, PARTS};

/// Credentials of the image's registry.
const PULL_SECRETS: &str = "      {{- with .Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
      - name: {{ . | quote }}
        {{- end }}
      {{- end }}
";
/// Variables that the chart's own values set.
const OPTIONS: &str = "        {{- with .Values.logLevel }}
        - name: BOSON_LOG
          value: {{ . | quote }}
        {{- end }}
        {{- range $name, $value := .Values.options }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
";
/// ConfigMaps whose files options name. Names of volumes have no points, so they are numbers.
const MOUNTS: &str = "        {{- range $at, $name := .Values.configMaps }}
        - name: config-{{ $at }}
          mountPath: /etc/boson/{{ $name }}
          readOnly: true
        {{- end }}
";
const VOLUMES: &str = "      {{- range $at, $name := .Values.configMaps }}
      - name: config-{{ $at }}
        configMap:
          name: {{ $name | quote }}
      {{- end }}
";
const NAMESPACES: &str = "        {{- if eq .Values.scope \"listed\" }}
        - name: BOSON_NAMESPACES
          value: {{ join \",\" .Values.namespaces | quote }}
        {{- end }}
";

pub(super) fn template(text: &str, deploy: &Deploy) -> Result<String> {
    ensure!(!text.contains("{{"), "the manifest is a template itself");
    let image = &deploy.image.name;
    let mut text = replace(
        text,
        &format!(" image: {image}\n"),
        " image: {{ include \"boson.image\" . }}\n",
    )?;
    text = replace(
        &text,
        &format!(" value: {image}\n"),
        " value: {{ include \"boson.image\" . }}\n",
    )?;
    text = replace(
        &text,
        &format!("  replicas: {}\n", replicas(&text)?),
        "  replicas: {{ .Values.replicas }}\n",
    )?;
    let block = resources(&text)?.to_string();
    text = replace(
        &text,
        &block,
        "          {{- toYaml .Values.resources | nindent 10 }}\n",
    )?;
    let account = "      serviceAccountName: boson\n";
    text = replace(&text, account, &format!("{account}{PULL_SECRETS}"))?;
    for (list, added) in [("        volumeMounts:\n", MOUNTS), ("      volumes:\n", VOLUMES)] {
        text = replace(&text, list, &format!("{list}{added}"))?;
    }
    let mut added = format!("{NAMESPACES}{OPTIONS}");
    for part in PARTS {
        for (name, value) in deploy.variables(part.folder) {
            text = variable(&text, &mut added, part.when, name, value)?;
        }
    }
    replace(&text, "        env:\n", &format!("        env:\n{added}"))
}

/// Sets a variable where the condition holds: the one that the manifest has, or an added one.
fn variable(text: &str, added: &mut String, when: &str, name: &str, value: &str) -> Result<String> {
    let before = format!("        - name: {name}\n");
    let with_value = format!("{before}          value: ");
    match text.split_once(&with_value).and_then(|(_, rest)| rest.split_once('\n')) {
        Some((other, _)) => {
            let both = format!("{{{{ if {when} }}}}\"{value}\"{{{{ else }}}}{other}{{{{ end }}}}");
            replace(
                text,
                &format!("{with_value}{other}\n"),
                &format!("{with_value}{both}\n"),
            )
        }
        None => {
            added.push_str(&format!("        {{{{- if {when} }}}}\n{before}"));
            added.push_str(&format!("          value: \"{value}\"\n        {{{{- end }}}}\n"));
            Ok(text.into())
        }
    }
}

/// The network policy, with the ports of other registries at its end.
pub(super) fn registry_ports(text: &str) -> Result<String> {
    ensure!(
        text.ends_with("    - port: 5000\n      protocol: TCP\n"),
        "the ports of registries are no longer the last ones"
    );
    Ok(format!(
        "{text}    {{{{- range .Values.registryPorts }}}}\n    - port: {{{{ . }}}}\n      protocol: TCP\n    {{{{- end }}}}\n"
    ))
}

pub(super) fn values(text: &str, deploy: &Deploy) -> Result<String> {
    let (_, operator) = deploy
        .files("operator")
        .find(|(name, _)| *name == "operator.yaml")
        .context("no operator.yaml")?;
    let served = deploy.variables("").iter().find(|(name, _)| name == "BOSON_NAMESPACES");
    let (_, served) = served.context("deploy/kustomization.yaml does not name the namespaces")?;
    let resources: String = resources(operator)?
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line)))
        .collect();
    let text = replace(text, "{IMAGE}", &deploy.image.name)?;
    let text = replace(&text, "{REPLICAS}", replicas(operator)?)?;
    let text = replace(&text, "{NAMESPACES}", &served.replace(',', ", "))?;
    replace(&text, "{RESOURCES}\n", &resources)
}

fn replicas(text: &str) -> Result<&str> {
    let (_, rest) = text.split_once("\n  replicas: ").context("no replicas")?;
    Ok(rest.lines().next().unwrap_or_default())
}

/// The lines below `resources:` of the container.
fn resources(text: &str) -> Result<&str> {
    let (_, rest) = text.split_once("\n        resources:\n").context("no resources")?;
    let mut end = 0;
    for line in rest
        .split_inclusive('\n')
        .take_while(|line| line.starts_with("          "))
    {
        end += line.len();
    }
    rest.get(..end).context("resources end within a character")
}

/// The text with this part replaced, which it has exactly once.
fn replace(text: &str, from: &str, to: &str) -> Result<String> {
    let count = text.matches(from).count();
    ensure!(count == 1, "'{}' is there {count} times, not once", from.trim());
    Ok(text.replacen(from, to, 1))
}
