//! Users and groups by name, from the image's own files: a static program cannot use the C library's lookups.

use std::fs;

use crate::directories::VCAP_ID;
use crate::error::{Error, Result};

/// User and group; nothing, where neither is named.
pub fn of(user: Option<&str>, group: Option<&str>) -> Result<Option<(u32, u32)>> {
    let Some(user) = user else {
        return group.map(|group| Ok((0, group_id(group)?))).transpose();
    };
    let (id, main) = user_ids(user)?;
    let group = group.map_or(Ok(main), group_id)?;
    Ok(Some((id, group)))
}

/// A user's number and that of its main group.
pub fn user_ids(name: &str) -> Result<(u32, u32)> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known =
        entry(&passwd, name).and_then(|fields| Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?)));
    match (known, name.parse()) {
        (Some(ids), _) => Ok(ids),
        (None, Ok(number)) => Ok((number, number)),
        // Images without the stemcell's users still have its number.
        (None, Err(_)) if name == "vcap" => Ok((VCAP_ID, VCAP_ID)),
        (None, Err(_)) => Err(Error::new(format!("unknown user '{name}'"))),
    }
}

pub fn group_id(name: &str) -> Result<u32> {
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let known = entry(&groups, name).and_then(|fields| fields.get(2)?.parse().ok());
    match (known, name.parse()) {
        (Some(id), _) | (None, Ok(id)) => Ok(id),
        (None, Err(_)) if name == "vcap" => Ok(VCAP_ID),
        (None, Err(_)) => Err(Error::new(format!("unknown group '{name}'"))),
    }
}

fn entry<'a>(file: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let mut lines = file.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find(|fields| fields.first() == Some(&name))
}
