use super::description::{Description, KeptValue};
use super::schemas::{CREATE, PLAN_PROPERTIES, Schemas, UPDATE};
use crate::near::NearNames;
use crate::template::Shape;

/// Why a value of `adapter.yml` does not go with the schemas.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeptValueError {
    #[error("`values.{value}.parameter`: `{parameter}` is not in `schemas/{file}`; {near}")]
    NoParameter {
        value: String,
        parameter: String,
        file: &'static str,
        near: NearNames,
    },
    #[error("`values.{value}.default` does not fit `{name}` of `schemas/{file}`")]
    Default {
        value: String,
        name: String,
        file: &'static str,
    },
}

/// Checks that users can send the parameters that values come from, and that the schemas accept the defaults.
pub(super) fn check(description: &Description, schemas: &Schemas) -> Result<(), KeptValueError> {
    for (name, value) in &description.values {
        parameter(name, value, schemas)?;
        default(name, value, schemas)?;
    }
    Ok(())
}

fn parameter(name: &str, value: &KeptValue, schemas: &Schemas) -> Result<(), KeptValueError> {
    let Some(parameter) = &value.parameter else {
        return Ok(());
    };
    let mut asked = vec![(CREATE, &schemas.create)];
    if schemas.has_update && value.may_change {
        asked.push((UPDATE, &schemas.update));
    }
    for (file, schema) in asked {
        if let Shape::Closed(names) = schema.shape()
            && !names.contains_key(parameter)
        {
            return Err(KeptValueError::NoParameter {
                value: name.to_owned(),
                parameter: parameter.clone(),
                file,
                near: NearNames::to(parameter, names.keys()),
            });
        }
    }
    Ok(())
}

fn default(name: &str, value: &KeptValue, schemas: &Schemas) -> Result<(), KeptValueError> {
    let Some(default) = &value.default else {
        return Ok(());
    };
    let locations = [
        (CREATE, Some(&schemas.create), &value.parameter),
        (
            PLAN_PROPERTIES,
            schemas.plan_properties.as_ref(),
            &value.plan_property,
        ),
    ];
    for (file, schema, member) in locations {
        if let (Some(schema), Some(member)) = (schema, member)
            && !schema.takes_member(member, default)
        {
            return Err(KeptValueError::Default {
                value: name.to_owned(),
                name: member.clone(),
                file,
            });
        }
    }
    Ok(())
}
