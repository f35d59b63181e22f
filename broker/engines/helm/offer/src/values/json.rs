//! JSON of users, read strictly: no name twice, nothing deeper or larger than allowed.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value at this depth, from 0.
pub(super) struct Strict<'b> {
    pub(super) depth: usize,
    pub(super) bounds: &'b mut Bounds,
}

/// What may still come.
pub(super) struct Bounds {
    pub(super) depth: usize,
    pub(super) keys: usize,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        if value.contains('\0') {
            return Err(E::custom("a text has a NUL"));
        }
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict {
            depth,
            bounds: &mut *self.bounds,
        })? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key.contains('\0') {
                return Err(A::Error::custom("a name has a NUL"));
            }
            self.bounds.keys = match self.bounds.keys.checked_sub(1) {
                Some(left) => left,
                None => return Err(A::Error::custom("there are too many names")),
            };
            let value = entries.next_value_seed(Strict {
                depth,
                bounds: &mut *self.bounds,
            })?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the name `{key}` is there twice")));
            }
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

impl Strict<'_> {
    fn deeper<E: Error>(&self) -> Result<usize, E> {
        if self.depth == self.bounds.depth {
            let deep = format!("maps and lists are more than {} deep", self.bounds.depth);
            return Err(E::custom(deep));
        }
        Ok(self.depth + 1)
    }
}
