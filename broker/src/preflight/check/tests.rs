use std::path::Path;

use jiff::Timestamp;

use odb_api_types::code::Code;
use odb_config::{Inspection, Paths};
use odb_core::finding::Finding;

use super::{Colour, Findings, as_of_a_start};
use crate::preflight::check::{AdapterCalls, Format, Reach, check};

async fn shown(source: &str, colour: Colour) -> String {
    let how = (Reach::File, AdapterCalls::LeftOut);
    let file = Path::new("broker.yml");
    let findings = check(file, source, how, std::iter::empty(), Timestamp::UNIX_EPOCH).await;
    findings.report(Format::Snippets(colour))
}

#[tokio::test]
async fn a_finding_is_shown_with_its_line_a_caret_and_the_remedy() {
    let source = "broker:\n  port: 70000 # too many\n";
    let plain = shown(source, Colour::Off).await;
    let expected = "error: `broker.port` is 70000
 --> broker.yml:2:9
  |
2 |   port: 70000
  |         ^^^^^
  |
  = remedy: a port is a number from 1 to 65535
";
    assert!(plain.contains(expected), "{plain}");
    assert!(!plain.contains('\u{1b}'), "{plain}");

    let coloured = shown(source, Colour::On).await;
    assert!(coloured.contains("\u{1b}[1m\u{1b}[91merror"), "{coloured}");
}

#[tokio::test]
async fn what_may_be_secret_is_hidden_and_carets_stay_in_their_columns() {
    let source = "broker: {password: hunter2-long, port: 70000, username: [hunter2]} # hunter2\n";
    let plain = shown(source, Colour::Off).await;
    let expected = format!(
        "\n1 | broker: {{password: …           , port: 70000, username: […]}}\n  | {}^^^^^\n",
        " ".repeat(39)
    );
    assert!(plain.contains(&expected), "{plain}");
    assert!(plain.contains("broker.yml:1:40"), "{plain}");
}

#[tokio::test]
async fn no_part_of_a_secret_is_shown_wherever_it_slipped_to() {
    let planted = include_str!("../../../../spec/stories/tests/story/check/twenty-errors.yml");
    for source in [
        planted,
        "broker: {password: &hunter2 }",
        "broker: {password: !hunter2 x}",
        "broker: {password: {hunter2: hunter2}}",
        "broker: {password:hunter2, port: 1}",
        "broker: {hunter2, port: 1}",
        "broker:\n  password: hunter2\n hunter2: x",
        "broker:\n  password: \"hunter2\n",
        "broker:\n  password: |\n  hunter2\n",
        "broker:\n  password: [|\n  hunter2]\n",
        "broker:\n  password hunter2\n",
        "hunter2",
        "- hunter2",
        "bosh: {root_ca_cert: hunter2}",
        "bosh: {authentication: hunter2}",
        "bosh: {authentication: {uaa: {client_credentials: [hunter2]}}}",
        "service_catalog: {dashboard_client: {id: a, secret: {hunter2: 1}}}",
        "service_catalog: {maintenance_info: {private: {password: [hunter2]}}}",
        "service_catalog: {plans: [{properties: [hunter2]}]}",
        "bosh: {url: 'https://admin:hunter2@host/?t=hunter2'}",
        "broker: {tls: {cert_file: /nowhere, key_file: \"-----BEGIN PRIVATE KEY-----\\nhunter2\\n\"}}",
        "service_deployment: {'-----BEGIN PRIVATE KEY----- hunter2': x}",
        "broker: {password: *hunter2}",
    ] {
        let plain = shown(source, Colour::Off).await;
        assert!(plain.contains("error"), "{plain}");
        assert!(!plain.contains("hunter"), "{plain}");
    }
}

#[test]
fn a_client_that_may_not_deploy_is_a_warning_at_its_line_and_no_error() {
    let source = "bosh:\n  authentication:\n    uaa: {client_credentials: {client_id: reader}}\n";
    let mut inspection = Inspection::of(Path::new("broker.yml"), source, Paths::OfAnother);
    inspection.errors.clear();
    inspection.warnings.clear();
    let mut findings = Findings::of(inspection, Timestamp::UNIX_EPOCH);
    let key = "bosh.authentication.uaa.client_credentials";
    let (found, remedy) = (
        "client `reader` may only read",
        "give it `bosh.teams.TEAM.admin`",
    );
    let finding = Finding::error(Code::DirectorRights, key, found, remedy).warning();

    findings.add([as_of_a_start(finding)]);

    assert!(findings.is_fine());
    assert_eq!(
        findings.report(Format::Text),
        "broker.yml:3:31: warning: `bosh.authentication.uaa.client_credentials` does not suffice: client `reader` may only read; give \
         it `bosh.teams.TEAM.admin` [ODB-1124]\nbroker.yml: 0 errors, 1 warning\n"
    );
}
