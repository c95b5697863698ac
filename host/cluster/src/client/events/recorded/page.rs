//! Pages of recorded events: ConfigMaps with a limited number of events each, of which the oldest are deleted. Pure.

use super::RecordedEvent;
use boson_manifest::labels::EVENTS_PAGE;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use serde_json::{Map, Value, json};

const MAX_PAGE_EVENTS: usize = 500;
/// An object may have a megabyte, and each append sends the page back.
const MAX_PAGE_BYTES: usize = 400_000;
/// Pages of a namespace: 10,000 events, as a BOSH director keeps.
const MAX_PAGES: u64 = 20;
/// Of a page or an event. Who may change ConfigMaps can write any number, and a sum that overflows ends the operator.
const MAX_PAGE_NUMBER: u64 = u64::MAX / 2;

/// A page, without its events.
#[derive(Clone, Debug)]
pub struct Page {
    /// Identifies the version that was read.
    pub object: ConfigMap,
    number: u64,
    /// The ID of its last event.
    last: u64,
    events: usize,
    bytes: usize,
}

#[derive(Debug, PartialEq)]
pub enum Write {
    Create(Box<ConfigMap>),
    /// Members to merge into the newest page.
    Merge(Value),
}

// === impl Page ===

impl Page {
    /// None if it is no page.
    pub fn of(mut object: ConfigMap) -> Option<Self> {
        let number = number(&object.metadata)?;
        let data = object.data.take().unwrap_or_default();
        object.metadata.managed_fields = None;
        let ids = data.keys().filter_map(|key| parsed(key));
        Some(Self {
            number,
            last: ids.max().unwrap_or_default(),
            events: data.len(),
            bytes: data.iter().map(|(key, text)| key.len() + text.len()).sum(),
            object,
        })
    }

    /// The events of pages, with their IDs, the newest first. What cannot be read is left out.
    pub fn events(pages: &[ConfigMap]) -> Vec<(u64, RecordedEvent)> {
        let data = pages.iter().filter_map(|page| page.data.as_ref()).flatten();
        let read = data.filter_map(|(key, text)| Some((key.parse().ok()?, serde_json::from_str(text).ok()?)));
        let mut all: Vec<(u64, RecordedEvent)> = read.collect();
        all.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        all
    }

    fn is_full(&self) -> bool {
        self.events >= MAX_PAGE_EVENTS || self.bytes >= MAX_PAGE_BYTES
    }
}

pub fn append(newest: Option<&Page>, namespace: &str, events: &[RecordedEvent]) -> Write {
    let last = newest.map_or(0, |page| page.last);
    let data: Map<String, Value> = (last + 1..)
        .zip(events)
        .map(|(id, event)| (id.to_string(), json!(event).to_string().into()))
        .collect();
    if newest.is_some_and(|page| !page.is_full()) {
        return Write::Merge(json!({"data": data}));
    }
    let number = newest.map_or(1, |page| page.number + 1);
    let texts = data
        .into_iter()
        .filter_map(|(id, text)| Some((id, text.as_str()?.to_string())));
    Write::Create(Box::new(ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("boson.events-{number}")),
            namespace: Some(namespace.into()),
            labels: Some([(EVENTS_PAGE.to_string(), number.to_string())].into()),
            ..ObjectMeta::default()
        },
        data: Some(texts.collect()),
        ..ConfigMap::default()
    }))
}

/// The name of the newest of these pages.
pub fn newest(pages: &[ObjectMeta]) -> Option<&str> {
    let newest = pages.iter().max_by_key(|page| number(page))?;
    number(newest).and(newest.name.as_deref())
}

/// Those that are too old.
pub fn outdated(pages: Vec<ObjectMeta>) -> Vec<ObjectMeta> {
    let newest = pages.iter().filter_map(number).max().unwrap_or_default();
    let is_old = |page: &ObjectMeta| number(page).is_some_and(|number| number + MAX_PAGES <= newest);
    pages.into_iter().filter(is_old).collect()
}

fn number(page: &ObjectMeta) -> Option<u64> {
    parsed(page.labels.as_ref()?.get(EVENTS_PAGE)?)
}

fn parsed(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number < MAX_PAGE_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    fn event(context: &str) -> RecordedEvent {
        RecordedEvent {
            time: Time(Timestamp::UNIX_EPOCH),
            user: String::new(),
            action: "update".into(),
            object_type: String::new(),
            object_name: String::new(),
            deployment: String::new(),
            instance: None,
            context: context.into(),
            error: String::new(),
        }
    }

    /// As the API server does it.
    fn written(newest: Option<ConfigMap>, events: &[RecordedEvent]) -> ConfigMap {
        let page = newest.clone().and_then(Page::of);
        match append(page.as_ref(), "n", events) {
            Write::Create(created) => *created,
            Write::Merge(members) => {
                let mut object = newest.unwrap();
                let data = members["data"].as_object().unwrap();
                let texts = data
                    .iter()
                    .map(|(id, text)| (id.clone(), text.as_str().unwrap().to_string()));
                object.data.get_or_insert_default().extend(texts);
                object
            }
        }
    }

    #[test]
    fn events_are_appended_to_the_newest_page_until_it_is_full() {
        let first = written(None, &[event("a"), event("b")]);
        assert_eq!(first.metadata.name.as_deref(), Some("boson.events-1"));
        let first = written(Some(first), &[event("c")]);
        let contexts = |pages: &[ConfigMap]| -> Vec<String> {
            let events = Page::events(pages).into_iter();
            events.map(|(id, event)| format!("{id} {}", event.context)).collect()
        };
        assert_eq!(contexts(std::slice::from_ref(&first)), ["3 c", "2 b", "1 a"]);
        let first = written(Some(first), &vec![event("x"); MAX_PAGE_EVENTS]);
        let second = written(Some(first.clone()), &[event("y")]);
        assert_eq!(second.metadata.name.as_deref(), Some("boson.events-2"));
        assert_eq!(contexts(&[first, second])[..2], ["504 y", "503 x"]);
    }

    #[test]
    fn a_page_of_long_events_is_full_earlier() {
        let long = event(&"x".repeat(1000));
        let page = Page::of(written(None, &vec![long; MAX_PAGE_EVENTS - 1])).unwrap();
        assert!(page.is_full());
    }

    #[test]
    fn the_oldest_pages_are_deleted() {
        let page = |number: u64| ObjectMeta {
            name: Some(format!("boson.events-{number}")),
            labels: Some([(EVENTS_PAGE.to_string(), number.to_string())].into()),
            ..ObjectMeta::default()
        };
        let all: Vec<ObjectMeta> = (1..=22).map(page).collect();
        assert_eq!(newest(&all), Some("boson.events-22"));
        let names: Vec<String> = outdated(all).into_iter().filter_map(|page| page.name).collect();
        assert_eq!(names, ["boson.events-1", "boson.events-2"]);
        assert_eq!(newest(&[]), None);
    }

    #[test]
    fn numbers_of_others_do_not_overflow() {
        let mut page = written(None, &[event("a")]);
        page.data.as_mut().unwrap().insert(u64::MAX.to_string(), "x".into());
        assert!(matches!(
            append(Page::of(page.clone()).as_ref(), "n", &[event("b")]),
            Write::Merge(_)
        ));
        page.metadata.labels = Some([(EVENTS_PAGE.to_string(), u64::MAX.to_string())].into());
        assert!(outdated(vec![page.metadata.clone()]).is_empty());
        assert!(Page::of(page).is_none());
    }
}
