//! What the Director can do, by its version (`spec/contracts/errands.md` §4.1).

use odb_api_types::management::DirectorAbilities;
use odb_platform::http::Call;

use super::{Fault, Instances};

impl Instances {
    /// The Director's version, as it is today, and what follows from it.
    pub async fn director_abilities(&self, call: &Call) -> Result<DirectorAbilities, Fault> {
        let info = self.neighbours.director.info(call).await;
        let info = info.map_err(Fault::director("ask the Director for its version"))?;
        Ok(DirectorAbilities::of(info.version))
    }
}
