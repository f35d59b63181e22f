//! `share-service`, `unshare-service`.

use reqwest::Method;
use serde_json::json;

use super::arguments::ShareService;
use super::available::Available;
use super::client::{Client, Listing};
use super::error::CfError;
use super::lookup;
use super::screen::Screen;
use super::wire::{Space, SpaceGuid};

pub(super) async fn share(
    client: &mut Client,
    screen: &mut Screen,
    share: ShareService,
) -> Result<(), CfError> {
    let instance = lookup::instance(client, &share.name).await?;
    let space = space(client, &share.space).await?;
    let path = format!(
        "/v3/service_instances/{}/relationships/shared_spaces",
        instance.guid
    );
    let body = json!({"data": [{"guid": space}]});
    client.change(Method::POST, &path, Some(&body)).await?;
    screen.say(&format!(
        "service instance {} can be used in {}",
        share.name, share.space
    ));
    Ok(())
}

pub(super) async fn unshare(
    client: &mut Client,
    screen: &mut Screen,
    share: ShareService,
) -> Result<(), CfError> {
    let instance = lookup::instance(client, &share.name).await?;
    let space = space(client, &share.space).await?;
    let path = format!(
        "/v3/service_instances/{}/relationships/shared_spaces/{space}",
        instance.guid
    );
    client.change(Method::DELETE, &path, None::<&()>).await?;
    screen.say(&format!(
        "service instance {} can no longer be used in {}",
        share.name, share.space
    ));
    Ok(())
}

/// The space of this name, whichever organization it is in.
async fn space(client: &mut Client, name: &str) -> Result<SpaceGuid, CfError> {
    let item = lookup::list_item(name);
    let query = [("names", &*item), ("page", "1"), ("per_page", "1")];
    let found: Listing<Space> = client.first_page("/v3/spaces", &query).await?;
    if let Some(space) = found.resources.into_iter().next() {
        return Ok(space.guid);
    }
    let available = Available::of(client, "/v3/spaces", &[]).await;
    Err(CfError::NoSpace(name.to_owned(), available))
}
