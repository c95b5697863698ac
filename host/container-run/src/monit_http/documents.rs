//! The status of all services, as the XML documents of monit: `_status` has the older form, `_status2` the newer one,
//! which also lists groups.

use crate::instance::State;

use super::action::Action;

/// The version of monit on BOSH's stemcells.
const MONIT_VERSION: &str = "5.2.5";
/// The group of all services in the monit files of BOSH releases.
const SERVICE_GROUP: &str = "vcap";
/// monit's number for a check of a process.
const PROCESS_CHECK: u8 = 3;
/// monit's bit for a process that does not run.
const NO_PROCESS_STATUS: u16 = 512;

/// What monit reports of a process.
#[derive(Clone, Copy, Debug)]
pub struct Service<'a> {
    /// Its name for monit.
    pub name: &'a str,
    /// The state of its container, if that runs.
    pub state: Option<State>,
    /// Its process ID; 0 while it does not run.
    pub pid: u32,
    /// How many seconds it has been in this state.
    pub uptime: u64,
    /// What was requested, and is not done yet.
    pub pending: Option<Action>,
}

/// The document of `_status`. `incarnation`: when the server started, in seconds since 1970.
pub fn status(services: &[Service<'_>], incarnation: u64) -> String {
    let mut text = format!(
        "{XML_PROLOG}<monit><server><incarnation>{incarnation}</incarnation><version>{MONIT_VERSION}</version></server>"
    );
    for service in services {
        let (name, members) = (escaped(service.name), members(service));
        text.push_str(&format!(
            "<service type=\"{PROCESS_CHECK}\"><name>{name}</name>{members}</service>"
        ));
    }
    text + "</monit>\n"
}

pub fn status2(services: &[Service<'_>], incarnation: u64) -> String {
    let mut text = format!("{XML_PROLOG}<monit incarnation=\"{incarnation}\" version=\"{MONIT_VERSION}\"><services>");
    for service in services {
        let (name, members) = (escaped(service.name), members(service));
        text.push_str(&format!(
            "<service name=\"{name}\"><type>{PROCESS_CHECK}</type>{members}</service>"
        ));
    }
    text.push_str(&format!(
        "</services><servicegroups><servicegroup name=\"{SERVICE_GROUP}\">"
    ));
    for service in services {
        text.push_str(&format!("<service>{}</service>", escaped(service.name)));
    }
    text + "</servicegroup></servicegroups></monit>\n"
}

const XML_PROLOG: &str = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n";

/// The members of a service that both documents have.
fn members(service: &Service<'_>) -> String {
    // A container that does not run is not stopped: the kubelet starts it again.
    let (status, monitor) = match service.state {
        None => (NO_PROCESS_STATUS, 1),
        Some(State::Starting) => (0, 2),
        Some(State::Halted) => (0, 0),
        Some(State::Running | State::Stopping | State::PreStopped | State::Drained) => (0, 1),
    };
    let pending = service.pending.map_or(0, Action::number);
    let mut text = format!(
        "<status>{status}</status><status_hint>0</status_hint><monitor>{monitor}</monitor><monitormode>0</monitormode><pendingaction>{pending}</pendingaction>"
    );
    if status == NO_PROCESS_STATUS {
        text.push_str("<status_message>process is not running</status_message>");
    } else if service.pid != 0 {
        text.push_str(&format!(
            "<pid>{}</pid><uptime>{}</uptime>",
            service.pid, service.uptime
        ));
    }
    text
}

/// A name as XML has it. Characters beyond ASCII are written by their numbers, so that the encoding does not matter.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            // XML has no way to write them.
            '\0'..='\u{1f}' | '\u{7f}' => text.push('?'),
            '<' | '>' | '&' | '"' | '\'' | '\u{80}'.. => text.push_str(&format!("&#{};", u32::from(character))),
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: Service<'_> = Service {
        name: "galera-init",
        state: Some(State::Running),
        pid: 7,
        uptime: 60,
        pending: None,
    };

    #[test]
    fn both_documents_are_those_that_clients_read() {
        let expected = concat!(
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<monit><server><incarnation>9</incarnation><version>5.2.5</version></server>",
            "<service type=\"3\"><name>galera-init</name><status>0</status><status_hint>0</status_hint><monitor>1</monitor>",
            "<monitormode>0</monitormode><pendingaction>0</pendingaction><pid>7</pid><uptime>60</uptime></service></monit>\n"
        );
        assert_eq!(status(&[RUNNING], 9), expected);
        let text = status2(&[RUNNING], 9);
        for part in [
            "<monit incarnation=\"9\" version=\"5.2.5\"><services><service name=\"galera-init\"><type>3</type><status>0</status>",
            "</services><servicegroups><servicegroup name=\"vcap\"><service>galera-init</service></servicegroup></servicegroups></monit>",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn states_are_monits_numbers() {
        for (state, pending, expected) in [
            (None, None, (512, 1, 0)),
            (Some(State::Starting), None, (0, 2, 0)),
            (Some(State::Halted), None, (0, 0, 0)),
            (Some(State::Stopping), None, (0, 1, 0)),
            (Some(State::Running), Some(Action::Stop), (0, 1, 3)),
            (Some(State::Halted), Some(Action::Start), (0, 0, 6)),
        ] {
            let text = members(&Service {
                state,
                pending,
                ..RUNNING
            });
            let (status, monitor, pending) = expected;
            assert!(text.starts_with(&format!("<status>{status}</status>")), "{text}");
            assert!(text.contains(&format!("<monitor>{monitor}</monitor>")), "{text}");
            assert!(
                text.contains(&format!("<pendingaction>{pending}</pendingaction>")),
                "{text}"
            );
            assert_eq!(text.contains("<status_message>"), state.is_none());
        }
    }

    #[test]
    fn names_cannot_end_their_element() {
        assert_eq!(escaped("a-b_c.1"), "a-b_c.1");
        assert_eq!(escaped("<\"&'>\u{e9}\n"), "&#60;&#34;&#38;&#39;&#62;&#233;?");
    }
}
