//! `curl`: any path of the Cloud Controller, with the user's token.

use super::client::Client;
use super::error::CfError;
use super::screen::Screen;

pub(super) async fn run(
    client: &mut Client,
    screen: &mut Screen,
    path: &str,
) -> Result<(), CfError> {
    if !path.starts_with('/') {
        return Err(CfError::NotAPath(path.to_owned()));
    }
    let answer = client.text(path).await?;
    screen.print(&answer)
}
