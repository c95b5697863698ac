//! PEM as Go writes and reads it: lines of 64 characters, a newline at the end; the first block counts.

use pem::{EncodeConfig, LineEnding, Pem};

/// A block of this label.
pub fn write(label: &str, der: &[u8]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF).set_line_wrap(64);
    pem::encode_config(&Pem::new(label, der), config)
}

/// Content of the first block, with any label.
pub fn first_block(text: &str) -> Option<Vec<u8>> {
    pem::parse(text).ok().map(Pem::into_contents)
}

/// Contents of all blocks.
pub fn blocks(text: &str) -> Vec<Vec<u8>> {
    let blocks = pem::parse_many(text).unwrap_or_default().into_iter();
    blocks.map(Pem::into_contents).collect()
}
