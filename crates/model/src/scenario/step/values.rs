//! Values of steps that are more than a number or a name.

use crate::scenario::notation::Text;
use crate::{cpuset::CpuSet, distribution::Distribution, time::Time, workload::Class};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;

/// A request to a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// The device.
    pub device: String,
    /// How long the device needs for the request.
    pub service: Text<Distribution>,
}

/// What a task changes about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The CPUs on which it may run from now on; as before when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Text<CpuSet>>,
    /// Its nice value from now on; as before when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20, max = 19))]
    pub nice: Option<i64>,
    /// Its scheduling class from now on; as before when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Text<Class>>,
    /// The slice that it asks for from now on; as before when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<Text<Time>>,
}

/// The word `true`, which says that a step without a value is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct True;

impl Serialize for True {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<True, D::Error> {
        match bool::deserialize(deserializer)? {
            true => Ok(True),
            false => Err(de::Error::custom("a step is written with `true`: to leave it out, remove it")),
        }
    }
}

impl JsonSchema for True {
    fn schema_name() -> Cow<'static, str> {
        "True".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean", "const": true })
    }
}
