//! The members of a gzip stream, one after the other, up to a limit: each needs a new decompressor, so a small file of
//! many empty members would use much processor time.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};

/// The unpacked content of all members.
pub struct Members<R> {
    current: Option<GzDecoder<R>>,
    left: u64,
}

/// There are more members than allowed.
#[derive(Debug, thiserror::Error)]
#[error("too many members")]
pub struct TooManyMembersError;

// === impl Members ===

impl<R: BufRead> Members<R> {
    /// Unpacks `reader`, at most so many members of it.
    pub fn new(reader: R, most: u64) -> Self {
        Self {
            current: Some(GzDecoder::new(reader)),
            left: most.saturating_sub(1),
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.current {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut rest) = self.current.take().map(GzDecoder::into_inner) else {
                break;
            };
            if rest.fill_buf()?.is_empty() {
                break;
            }
            self.left = self
                .left
                .checked_sub(1)
                .ok_or_else(|| io::Error::other(TooManyMembersError))?;
            self.current = Some(GzDecoder::new(rest));
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn member(text: &str) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap()
    }

    fn unpacked(bytes: &[u8], most: u64) -> io::Result<String> {
        let mut text = String::new();
        Members::new(bytes, most).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn members_are_read_one_after_the_other_up_to_a_limit() {
        let several = [member("a"), member(""), member("bc")].concat();
        assert_eq!(unpacked(&several, 3).unwrap(), "abc");
        let error = unpacked(&several, 2).unwrap_err();
        assert!(
            error.get_ref().is_some_and(|inner| inner.is::<TooManyMembersError>()),
            "{error}"
        );
        assert_eq!(
            unpacked(&several[..several.len() - 3], 9).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert!(unpacked(&[several, b"garbage at the end".to_vec()].concat(), 9).is_err());
    }
}
