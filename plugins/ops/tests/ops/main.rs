//! The ops stage against the answers of `bosh interpolate`: tables of cases for every section of the rules, and
//! properties.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod find;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod order;
#[cfg(test)]
mod origins;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod remove;
#[cfg(test)]
mod replace;
#[cfg(test)]
mod test_operation;
