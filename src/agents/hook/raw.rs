//! JSON objects whose members stay as they were written: a hook gives back what it does not understand to the letter.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// An object, in the order of the text.
#[derive(Debug)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Object<'a> {
    /// A member by its name. Which of two with the same name counts would be the reader's choice, so neither does.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        let mut found = self.0.iter().filter(|(member, _)| member == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(&**value)
    }

    /// A member that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// A member that is an object.
    pub fn object(&self, name: &str) -> Option<Object<'_>> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The same object with another value for one member, in its place.
    pub fn with(mut self, name: &str, value: &impl Serialize) -> serde_json::Result<Self> {
        let value = to_raw_value(value)?;
        for (member, old) in &mut self.0 {
            if member == name {
                *old = Cow::Owned(value.clone());
            }
        }
        Ok(self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((Cow::Owned(name), Cow::Borrowed(value)));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
