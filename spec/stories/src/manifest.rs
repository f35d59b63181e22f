//! BOSH manifests as `bosh interpolate` and `bosh deploy` make them: a base, ops files over it, variables in it.
//!
//! It knows as much of <https://bosh.io/docs/cli-ops-files/>, <https://bosh.io/docs/cli-int/> and
//! <https://bosh.io/docs/variable-types/> as the project's manifests use; anything else is an error.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
};

use odb_adapter_sdk::{secrets::Reference, yaml};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const EXAMPLE: &str = "manifests/vars/example.yml";

/// How the example writes a certificate that a site has to put in.
const BLANK_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n(";

/// A manifest, or another document of BOSH such as a cloud config.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    document: Value,
}

#[derive(Clone, Debug)]
pub struct OpsFile {
    name: String,
    operations: Vec<Operation>,
}

/// Values by name. They are never printed.
#[derive(Clone, Default)]
pub struct Variables(BTreeMap<String, Value>);

#[derive(Clone, Debug, PartialEq)]
pub struct Interpolation {
    pub document: Value,
    /// Variables without a value; their names are still in the document.
    pub missing: BTreeSet<String>,
    pub unused: BTreeSet<String>,
}

/// A file that cannot be read, an operation that cannot be carried out, or a variable that does not fit.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ManifestError(String);

type Result<T> = std::result::Result<T, ManifestError>;

/// Unknown members are ignored, as by the CLI.
#[derive(Clone, Debug, Deserialize)]
struct Operation {
    #[serde(rename = "type")]
    kind: OperationKind,
    path: String,
    #[serde(default)]
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OperationKind {
    Replace,
    Remove,
}

/// An entry of a manifest's `variables:`.
#[derive(Deserialize)]
struct Definition {
    name: String,
    #[serde(rename = "type")]
    kind: VariableKind,
    #[serde(default)]
    options: Options,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum VariableKind {
    Password,
    Certificate,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    common_name: Option<String>,
    alternative_names: Vec<String>,
    organization: Option<String>,
    ca: Option<String>,
    is_ca: bool,
    extended_key_usage: Vec<String>,
}

impl Manifest {
    pub fn read(file: &Path) -> Result<Self> {
        Self::parse(&file.display().to_string(), &text_of(file)?)
    }

    /// Reads a file of this project, such as `manifests/redis.yml`. One that cannot be read fails the test.
    pub fn of_project(file: &str) -> Self {
        Self::read(&in_project(file)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads a text; errors name it by `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let document = parsed(name, text)?;
        Ok(Self { document })
    }

    /// The same with all operations of a file carried out, in their order.
    pub fn with_operations(mut self, file: &OpsFile) -> Result<Self> {
        file.apply(&mut self.document)?;
        Ok(self)
    }

    /// The manifest as a Director deploys it: given variables replace their names, and those of `variables:` that are
    /// not given are generated as by CredHub.
    pub fn complete(&self, given: &Variables) -> Result<Interpolation> {
        let first = given.interpolate(&self.document)?;
        let (generated, signers) = generate(&first.document, given)?;
        let second = generated.interpolate(&first.document)?;
        let mut unused = first.unused;
        // An authority that signs others is used, even without a reference to it.
        unused.extend(second.unused.difference(&signers).cloned());
        Ok(Interpolation { unused, ..second })
    }

    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The names that a manifest asks for and does not list under `variables:`: what an operator has to give.
    pub fn variables_to_give(&self) -> Vec<String> {
        let made = self.document["variables"].as_array().into_iter().flatten();
        let made: Vec<&str> = made.filter_map(|made| made["name"].as_str()).collect();
        let mut asked = Variables::asked_for_by(&self.document);
        asked.retain(|name| !made.contains(&name.as_str()));
        asked.into_iter().collect()
    }

    /// The value at a path of an ops file, such as `/instance_groups/name=broker/jobs/name=broker`.
    pub fn at(&self, path: &str) -> Option<&Value> {
        find(&self.document, path)
    }
}

impl From<Value> for Manifest {
    fn from(document: Value) -> Self {
        Self { document }
    }
}

/// The value at a path of an ops file, if something is there.
pub fn find<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    let mut steps = path.split('/').skip(1);
    steps.try_fold(document, |value, step| match value {
        Value::Array(items) => items.get(position(items, step).ok()?),
        value => value.get(step),
    })
}

impl OpsFile {
    pub fn read(file: &Path) -> Result<Self> {
        Self::parse(&file.display().to_string(), &text_of(file)?)
    }

    /// Reads a file of this project, such as `manifests/operations/quotas.yml`. One that cannot be read fails the test.
    pub fn of_project(file: &str) -> Self {
        Self::read(&in_project(file)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Reads a text; errors name it by `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let operations: Vec<Operation> = parsed(name, text)?;
        // To the CLI, too, a null is no value.
        let is_odd = |operation: &&Operation| {
            operation.value.is_null() == (operation.kind == OperationKind::Replace)
        };
        if let Some(odd) = operations.iter().find(is_odd) {
            let text = "`replace` has a `value`, and `remove` has none";
            return Err(ManifestError(format!("`{name}`, {}: {text}", odd.path)));
        }
        let name = name.to_owned();
        Ok(Self { name, operations })
    }

    fn apply(&self, document: &mut Value) -> Result<()> {
        for operation in &self.operations {
            operation.apply(document).map_err(|error| {
                ManifestError(format!("`{}`, `{}`: {error}", self.name, operation.path))
            })?;
        }
        Ok(())
    }

    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let values = self.operations.iter().map(|operation| &operation.value);
        values.filter(|value| !value.is_null())
    }
}

impl Operation {
    fn apply(&self, document: &mut Value) -> Result<()> {
        let mut steps: Vec<&str> = self.path.split('/').skip(1).collect();
        let last = steps.pop().ok_or_else(|| error("a path begins with `/`"))?;
        let (mut target, mut optional) = (document, false);
        for (index, step) in steps.iter().enumerate() {
            // Behind something that need not be there, nothing has to be.
            optional |= step.ends_with('?');
            let next = steps.get(index + 1).copied().unwrap_or(last);
            target = entered(target, step, optional, next)?;
        }
        optional |= last.ends_with('?');
        let last = last.trim_end_matches('?');
        match (self.kind, target) {
            (OperationKind::Replace, Value::Array(items)) if last == "-" => {
                items.push(self.value.clone());
            }
            (OperationKind::Replace, target) => {
                *entered(target, last, optional, "")? = self.value.clone();
            }
            (OperationKind::Remove, Value::Array(items)) => match position(items, last) {
                Ok(at) => drop(items.remove(at)),
                Err(_) if optional => {}
                Err(error) => return Err(error),
            },
            (OperationKind::Remove, Value::Object(members)) => {
                if members.shift_remove(last).is_none() && !optional {
                    return Err(error(&format!("there is no `{last}`")));
                }
            }
            (OperationKind::Remove, _) => return Err(error("it is neither a list nor a map")),
        }
        Ok(())
    }
}

/// The value that a step leads to. One that is missing is made if it is optional; the `next` step says of what kind.
fn entered<'v>(
    target: &'v mut Value,
    step: &str,
    optional: bool,
    next: &str,
) -> Result<&'v mut Value> {
    let step = step.trim_end_matches('?');
    match target {
        Value::Array(items) => {
            let at = match (position(items, step), step.split_once('=')) {
                (Err(_), Some((key, value))) if optional => {
                    items.push(json!({ key: value }));
                    items.len() - 1
                }
                (at, _) => at?,
            };
            Ok(&mut items[at])
        }
        Value::Object(members) => {
            if !optional && !members.contains_key(step) {
                let keys: Vec<String> = members.keys().map(|key| format!("`{key}`")).collect();
                let keys = keys.join(", ");
                return Err(error(&format!(
                    "there is no `{step}`, only {keys}; a `?` behind it makes it"
                )));
            }
            let is_of_a_list = next == "-" || next.contains('=') || next.parse::<usize>().is_ok();
            let made = if is_of_a_list { json!([]) } else { json!({}) };
            Ok(members.entry(step).or_insert(made))
        }
        _ => Err(error(&format!("`{step}` leads nowhere"))),
    }
}

/// Where a list has the one item that a step means: `2`, or `name=broker`.
fn position(items: &[Value], step: &str) -> Result<usize> {
    let found: Vec<usize> = if let Some((key, wanted)) = step.split_once('=') {
        let matches = |at: &usize| items[*at][key] == wanted;
        (0..items.len()).filter(matches).collect()
    } else {
        let at = step.parse().ok().filter(|at| *at < items.len());
        at.into_iter().collect()
    };
    if let [at] = found[..] {
        return Ok(at);
    }
    let count = found.len();
    Err(error(&format!("`{step}` matches {count} items, not one")))
}

impl Variables {
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of `manifests/vars/example.yml`. Where that says which certificate belongs there, there is one that can be
    /// used.
    pub fn of_example() -> Self {
        let options = json!({ "is_ca": true, "common_name": "of the site" });
        let authority =
            json!({ "variables": [{ "name": "ca", "type": "certificate", "options": options }] });
        let (made, _) = generate(&authority, &Self::new()).expect("it can be made");
        let example = Self::new().with_file(&in_project(EXAMPLE));
        let mut example = example.unwrap_or_else(|error| panic!("{error}"));
        for value in example.0.values_mut() {
            let text = value.as_str().unwrap_or_default();
            if text.starts_with(BLANK_CERTIFICATE) {
                *value = made.0["ca"]["certificate"].clone();
            }
        }
        example
    }

    /// One more, or another value, as with `-v NAME=VALUE`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub fn with_file(mut self, file: &Path) -> Result<Self> {
        let values: Option<Map<String, Value>> =
            parsed(&file.display().to_string(), &text_of(file)?)?;
        self.0.extend(values.into_iter().flatten());
        Ok(self)
    }

    /// The value of a variable that is a text. One that is not there fails the test.
    pub fn text(&self, name: &str) -> &str {
        let value = self.0.get(name).and_then(Value::as_str);
        value.unwrap_or_else(|| panic!("there is no text `{name}`"))
    }

    #[must_use]
    pub fn only(mut self, names: &BTreeSet<String>) -> Self {
        self.0.retain(|name, _| names.contains(name));
        self
    }

    #[must_use]
    pub fn for_manifest(self, manifest: &Manifest) -> Self {
        self.only(&Self::asked_for_by(manifest.document()))
    }

    /// Every name between `((` and `))` in a value, without the part after a dot.
    pub fn asked_for_by(document: &Value) -> BTreeSet<String> {
        let nothing = Self::new().interpolate(document);
        nothing.expect("nothing is put in place").missing
    }

    fn interpolate(&self, document: &Value) -> Result<Interpolation> {
        let mut asked = BTreeSet::new();
        let document = self.fill(document, &mut asked)?;
        let given: BTreeSet<String> = self.0.keys().cloned().collect();
        Ok(Interpolation {
            document,
            missing: &asked - &given,
            unused: &given - &asked,
        })
    }

    fn fill(&self, value: &Value, asked: &mut BTreeSet<String>) -> Result<Value> {
        match value {
            Value::String(text) => self.fill_text(text, asked),
            Value::Array(items) => items.iter().map(|item| self.fill(item, asked)).collect(),
            Value::Object(members) => {
                let mut filled = Map::new();
                for (key, value) in members {
                    let key = match self.fill_text(key, asked)? {
                        Value::String(key) => key,
                        other => other.to_string(),
                    };
                    filled.insert(key, self.fill(value, asked)?);
                }
                Ok(Value::Object(filled))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        }
    }

    fn fill_text(&self, text: &str, asked: &mut BTreeSet<String>) -> Result<Value> {
        let (mut filled, mut rest) = (String::new(), text);
        // Placeholders of adapters are text: their secrets are kept by the broker.
        for reference in Reference::all_in(text).filter(|found| found.placeholder().is_none()) {
            let (before, after) = rest.split_once(reference.text()).unwrap_or((rest, ""));
            filled.push_str(before);
            rest = after;
            asked.insert(reference.root().to_owned());
            let Some(mut value) = self.0.get(reference.root()) else {
                filled.push_str(reference.text());
                continue;
            };
            for key in reference.members() {
                value = value.get(key).ok_or_else(|| {
                    error(&format!("variable `{}` has no `{key}`", reference.root()))
                })?;
            }
            // One that is all of the text keeps its kind.
            if reference.text() == text {
                return Ok(value.clone());
            }
            match value {
                Value::String(value) => filled.push_str(value),
                Value::Number(number) if !number.is_f64() => filled.push_str(&number.to_string()),
                _ => {
                    let name = reference.name();
                    let wrong = "is part of a text, and is neither text nor whole number";
                    return Err(error(&format!("variable `{name}` {wrong}")));
                }
            }
        }
        filled.push_str(rest);
        Ok(Value::String(filled))
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

type Authorities = BTreeMap<String, (Issuer<'static, KeyPair>, String)>;

/// Generates the `variables:` of the document that are not given, in its order, and names those that sign others.
///
/// Keys of certificates are ECDSA P-256, where CredHub generates RSA keys. An authority with an absolute name that is
/// not given belongs to another deployment, and is generated as well.
fn generate(document: &Value, given: &Variables) -> Result<(Variables, BTreeSet<String>)> {
    let (mut authorities, mut signers) = (Authorities::new(), BTreeSet::new());
    let (mut generated, mut names) = (Variables::new(), BTreeSet::new());
    for entry in document["variables"].as_array().into_iter().flatten() {
        let definition = Definition::deserialize(entry);
        let Definition {
            name,
            kind,
            options,
        } = definition.map_err(|cause| error(&format!("`variables` has {entry}: {cause}")))?;
        if !names.insert(name.clone()) {
            return Err(error(&format!("`variables` has `{name}` twice")));
        }
        if given.0.contains_key(&name) {
            continue;
        }
        signers.extend(options.ca.clone());
        let value = match kind {
            VariableKind::Password => json!(uuid::Uuid::new_v4().simple().to_string()),
            VariableKind::Certificate => certificate(&name, &options, &mut authorities)?,
        };
        generated.0.insert(name, value);
    }
    Ok((generated, signers))
}

fn certificate(name: &str, options: &Options, authorities: &mut Authorities) -> Result<Value> {
    let failed = |cause: rcgen::Error| error(&format!("`{name}` cannot be made: {cause}"));
    let is_unnamed = options.common_name.is_none() && options.alternative_names.is_empty();
    if is_unnamed || !(options.is_ca || options.ca.is_some()) {
        let text = "has neither `ca` nor `is_ca`, or no `common_name` and no `alternative_names`";
        return Err(error(&format!("certificate `{name}` {text}")));
    }
    let foreign = options.ca.as_deref().filter(|ca| ca.starts_with('/'));
    if let Some(foreign) = foreign.filter(|ca| !authorities.contains_key(*ca)) {
        let of_another = Options {
            common_name: Some(foreign.to_owned()),
            is_ca: true,
            ..Options::default()
        };
        certificate(foreign, &of_another, authorities)?;
    }
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let private_key = key.serialize_pem();
    let parameters = parameters(options).map_err(failed)?;
    let (certificate, ca) = match &options.ca {
        None => {
            let certificate = parameters.self_signed(&key).map_err(failed)?.pem();
            (certificate.clone(), certificate)
        }
        Some(authority) => {
            let (issuer, ca) = authorities.get(authority).ok_or_else(|| {
                error(&format!(
                    "`{name}` is signed by `{authority}`, which is not made before it"
                ))
            })?;
            let certificate = parameters.signed_by(&key, issuer).map_err(failed)?;
            (certificate.pem(), ca.clone())
        }
    };
    if options.is_ca {
        let issuer = Issuer::new(parameters, key);
        authorities.insert(name.to_owned(), (issuer, certificate.clone()));
    }
    Ok(json!({ "ca": ca, "certificate": certificate, "private_key": private_key }))
}

fn parameters(options: &Options) -> std::result::Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::new(options.alternative_names.clone())?;
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    let names = [
        (DnType::CommonName, &options.common_name),
        (DnType::OrganizationName, &options.organization),
    ];
    for (kind, name) in names {
        if let Some(name) = name {
            parameters.distinguished_name.push(kind, name);
        }
    }
    parameters.use_authority_key_identifier_extension = true;
    let usage = |usage: &String| match usage.as_str() {
        "client_auth" => ExtendedKeyUsagePurpose::ClientAuth,
        "server_auth" => ExtendedKeyUsagePurpose::ServerAuth,
        other => panic!("`{other}` is no usage of a key that the manifests need"),
    };
    parameters.extended_key_usages = options.extended_key_usage.iter().map(usage).collect();
    if options.is_ca {
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    }
    Ok(parameters)
}

fn parsed<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    yaml::from_str(text).map_err(|cause| error(&format!("`{name}`: {cause}")))
}

fn error(text: &str) -> ManifestError {
    ManifestError(text.to_owned())
}

fn in_project(file: &str) -> PathBuf {
    Path::new(PROJECT).join(file)
}

fn text_of(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|cause| error(&format!("`{}`: {cause}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(operations: &str) -> Result<Value> {
        let document = "{key: 1, map: {one: 2, two: 3}, array: [4, 5], items: [{name: a}, {name: b}, {name: b}]}";
        let manifest = Manifest::parse("base.yml", document)?;
        let file = OpsFile::parse("ops.yml", operations)?;
        Ok(manifest.with_operations(&file)?.document)
    }

    #[test]
    fn operations_change_what_their_paths_name() {
        for (operation, path, expected) in [
            ("path: /key, value: 9", "/key", json!(9)),
            ("path: /new?, value: 9", "/new", json!(9)),
            (
                "path: /map/new?/deep, value: 9",
                "/map/new",
                json!({ "deep": 9 }),
            ),
            ("path: /list?/-, value: 9", "/list", json!([9])),
            ("path: /array/0, value: 9", "/array", json!([9, 5])),
            ("path: /array/-, value: 9", "/array", json!([4, 5, 9])),
            (
                "path: /items/name=a/size?, value: 9",
                "/items/0",
                json!({ "name": "a", "size": 9 }),
            ),
            (
                "path: /items/name=c?/size, value: 9",
                "/items/3",
                json!({ "name": "c", "size": 9 }),
            ),
        ] {
            let changed = after(&format!("[{{type: replace, {operation}}}]")).unwrap();
            assert_eq!(find(&changed, path), Some(&expected), "{operation}");
        }
        for (path, left) in [
            ("/map/one", "/map/one"),
            ("/map/none?", "/map/none"),
            ("/array/1", "/array/1"),
            ("/items/name=a", "/items/name=a"),
            ("/items/name=z?", "/items/name=z"),
        ] {
            let changed = after(&format!("[{{type: remove, path: '{path}'}}]")).unwrap();
            assert_eq!(find(&changed, left), None, "{path}");
        }
    }

    #[test]
    fn operations_that_mean_nothing_are_named_with_their_path() {
        for (operation, text) in [
            (
                "type: replace, path: /map/new, value: 9",
                "there is no `new`, only `one`, `two`",
            ),
            (
                "type: replace, path: /array/7, value: 9",
                "`7` matches 0 items, not one",
            ),
            (
                "type: replace, path: /items/name=b/x?, value: 9",
                "matches 2 items, not one",
            ),
            (
                "type: replace, path: /key/x/y, value: 9",
                "`x` leads nowhere",
            ),
            ("type: replace, path: /key", "`replace` has a `value`"),
            ("type: remove, path: /nothing", "there is no `nothing`"),
            (
                "type: move, path: /key",
                "expected one of `replace`, `remove`",
            ),
        ] {
            let error = after(&format!("[{{{operation}}}]"))
                .unwrap_err()
                .to_string();
            assert!(error.contains("ops.yml") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn variables_take_the_place_of_their_names() {
        let tls = json!({ "ca": "CA", "nested": { "x": 1 } });
        let given = Variables::new().with("az", json!(["z1"])).with("n", 3);
        let given = given.with("tls", tls).with("unused", "((n))");
        let document = json!({ "azs": "((az))", "((n))": "a-((n))-((!n))", "ca": "((tls.ca))", "d": "((d.e))" });
        let result = given.interpolate(&document).unwrap();
        let expected = json!({ "azs": ["z1"], "3": "a-3-3", "ca": "CA", "d": "((d.e))" });
        assert_eq!(result.document, expected);
        assert_eq!(result.missing, BTreeSet::from(["d".to_owned()]));
        assert_eq!(result.unused, BTreeSet::from(["unused".to_owned()]));
        for (text, wrong) in [
            ("((tls.key))", "variable `tls` has no `key`"),
            ("a ((tls))", "is part of a text"),
        ] {
            let error = given.interpolate(&json!(text)).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn what_is_not_given_is_generated() {
        let of = |variables: Value| {
            Manifest::from(json!({ "variables": variables, "x": "((tls.ca))((p))" }))
        };
        let manifest = of(json!([
            { "name": "p", "type": "password" },
            { "name": "ca", "type": "certificate", "options": { "is_ca": true, "common_name": "CA" } },
            { "name": "tls", "type": "certificate", "options": { "ca": "ca", "alternative_names": ["10.0.0.9"] } },
        ]));
        let given = Variables::new().with("p", "mine");
        let made = manifest.complete(&given).unwrap();
        let text = made.document["x"].as_str().unwrap();
        assert!(text.starts_with("-----BEGIN CERTIFICATE-----") && text.ends_with("mine"));
        assert!(
            made.missing.is_empty() && made.unused.is_empty(),
            "{made:?}"
        );
        for (variables, wrong) in [
            (
                json!([{ "name": "a", "type": "password" }, { "name": "a", "type": "password" }]),
                "twice",
            ),
            (
                json!([{ "name": "a", "type": "token" }]),
                "unknown variant `token`",
            ),
            (
                json!([{ "name": "a", "type": "certificate", "options": { "common_name": "a" } }]),
                "neither `ca`",
            ),
            (
                json!([{ "name": "a", "type": "certificate", "options": { "ca": "b", "common_name": "a" } }]),
                "before it",
            ),
        ] {
            let error = of(variables).complete(&Variables::new()).unwrap_err();
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}
