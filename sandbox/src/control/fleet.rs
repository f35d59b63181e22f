//! `/fleet`: thousands of instances at once.

use actix_web::web::{Data, Json};

use super::{Control, rejection::Rejection};
use crate::fleet::{self, FleetError, FleetOrder, FleetReport};

pub(super) async fn seed(
    control: Data<Control>,
    order: Json<FleetOrder>,
) -> Result<Json<FleetReport>, Rejection> {
    let controls = &control.controls;
    let seeded = fleet::seed(
        &order,
        &controls.fleet,
        &controls.cloud_controller,
        &controls.director,
    );
    Ok(Json(seeded.await?))
}

impl From<FleetError> for Rejection {
    fn from(error: FleetError) -> Self {
        let text = with_cause(&error);
        match error {
            FleetError::Bounds => Self::Bad(text),
            FleetError::NoPlans(_)
            | FleetError::NoRelease
            | FleetError::CloudController(_)
            | FleetError::Director { .. } => Self::Conflict(text),
        }
    }
}

fn with_cause(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
