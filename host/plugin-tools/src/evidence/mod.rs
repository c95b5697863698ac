//! What is attached to the image of a component in its registry, and who has signed it.

mod sbom;
mod shown;
mod trusted;

pub use sbom::Sbom;
pub use shown::{text, tree};
pub use trusted::{Names, TrustArguments, read};

use boson_oci::Digest;
use boson_registry::{Attachment, Attachments};
use boson_signatures::{Author, Envelope, SignatureError, Statement, Trust};

/// Subjects of a statement that are shown.
const MAX_SHOWN_SUBJECTS: usize = 8;

/// Something that is attached to an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub kind: Kind,
    /// What it is about: digests.
    pub subjects: Vec<String>,
    pub state: State,
    /// The tag or digest of its manifest.
    pub place: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signature of the image.
    Signature,
    /// A bill of materials.
    Sbom(Sbom),
    /// Another statement, by the address of its type; and what built the component, if it says that.
    Statement(String, Option<String>),
    /// It has too many bytes, none, or another form than its type says.
    Unreadable(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A given key or identity.
    Verified(Author),
    /// It has a signature, which was not verified because no key or identity was given.
    Present,
    /// Keys or identities were given, and none of them has signed it.
    OtherKey,
    /// It is about something else.
    OtherSubject,
    /// It has no signature.
    Unsigned,
}

/// What the items should be about.
#[derive(Clone, Copy, Debug)]
pub struct Subjects<'s> {
    pub image: &'s Digest,
    pub component: &'s Digest,
}

/// The items among attachments.
pub fn items(attachments: &Attachments, subjects: Subjects<'_>, trust: &Trust) -> Vec<Item> {
    let all = attachments.all.iter();
    all.map(|attachment| item(attachment, subjects, trust)).collect()
}

fn item(attachment: &Attachment, subjects: Subjects<'_>, trust: &Trust) -> Item {
    readable(attachment, subjects, trust).unwrap_or_else(|| Item {
        kind: Kind::Unreadable(attachment.media_type.clone()),
        subjects: Vec::new(),
        state: State::Unsigned,
        place: attachment.place.clone(),
    })
}

fn readable(attachment: &Attachment, subjects: Subjects<'_>, trust: &Trust) -> Option<Item> {
    let whole = |kind: Kind, subjects: Vec<String>, state: State| Item {
        kind,
        subjects,
        state,
        place: attachment.place.clone(),
    };
    let image = || vec![subjects.image.to_string()];
    let content = attachment.content.as_ref()?;
    if attachment.is_statement() {
        let envelope = Envelope::read(content)?;
        let statement = envelope.statement()?;
        let state = state_of(&envelope, &statement, subjects, trust);
        let subjects = statement.subjects.iter().take(MAX_SHOWN_SUBJECTS);
        return Some(whole(kind(&statement), subjects.cloned().collect(), state));
    }
    if !attachment.is_payload() {
        let sbom = Sbom::read(&attachment.media_type, content);
        return Some(whole(Kind::Sbom(sbom), image(), State::Unsigned));
    }
    let signature = attachment.image_signature()?;
    let state = of_author(signature.author(subjects.image, trust), trust);
    Some(whole(Kind::Signature, image(), state))
}

fn kind(statement: &Statement) -> Kind {
    if statement.is_signature() {
        return Kind::Signature;
    }
    match Sbom::of(&statement.predicate) {
        Some(sbom) => Kind::Sbom(sbom),
        None => Kind::Statement(statement.predicate_type.clone(), statement.builder().map(str::to_owned)),
    }
}

fn state_of(envelope: &Envelope, statement: &Statement, subjects: Subjects<'_>, trust: &Trust) -> State {
    if statement.is_about(subjects.image) || statement.is_about(subjects.component) {
        of_author(envelope.author(trust), trust)
    } else {
        State::OtherSubject
    }
}

fn of_author(author: Result<Author, SignatureError>, trust: &Trust) -> State {
    match author {
        Ok(author) => State::Verified(author),
        Err(_) if trust.is_empty() => State::Present,
        Err(_) => State::OtherKey,
    }
}
