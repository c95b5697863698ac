//! `container-run archive` and `extract`: files of a container as a tar stream, for `host logs` and `host scp`. The
//! image of a release may have no `tar`.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::files::{entries, open_shared};
use crate::output::say::say;

const BLOCK_BYTES: usize = 512;
/// Offsets of the fields in a header, in bytes.
const NAME_OFFSET: usize = 0;
const NAME_BYTES: usize = 100;
const MODE_OFFSET: usize = 100;
const SIZE_OFFSET: usize = 124;
const TIME_OFFSET: usize = 136;
const CHECKSUM_OFFSET: usize = 148;
const CHECKSUM_BYTES: usize = 8;
const KIND_OFFSET: usize = 156;
const MAGIC_OFFSET: usize = 257;
/// Digits of a number in octal, before its final zero byte.
const MODE_DIGITS: usize = 7;
const NUMBER_DIGITS: usize = 11;
/// Of GNU tar.
const GNU_MAGIC: &[u8] = b"ustar  \0";
const LONG_LINK_NAME: &[u8] = b"././@LongLink";
/// Kinds of entries.
const REGULAR_KIND: u8 = b'0';
const OLD_REGULAR_KIND: u8 = 0;
const DIRECTORY_KIND: u8 = b'5';
const LONG_NAME_KIND: u8 = b'L';
/// The longest path, in bytes, as in Linux.
const MAX_PATH_BYTES: u64 = 4096;
/// How deep directories are searched.
const MAX_DEPTH: usize = 64;

/// Runs `archive [--recursive] PATH`: writes a file, or a directory with all below it, to standard output. The names in
/// the archive begin with the last part of the path. What cannot be read, and what is neither file nor directory, is
/// reported and left out.
pub fn archive(arguments: &[String]) -> Result<u8> {
    let (recursive, path) = match arguments {
        [path] => (false, path),
        [flag, path] if flag == "--recursive" => (true, path),
        _ => return Err(Error::usage("archive: [--recursive] and a path are needed")),
    };
    // Also if the path is a link to another name.
    let name = Path::new(path).file_name().map(PathBuf::from);
    let path = fs::canonicalize(path).path_context("reading", Path::new(path))?;
    if path.is_dir() && !recursive {
        return Err(Error::new(format!(
            "{} is a directory: use --recursive",
            path.display()
        )));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let name = name.or_else(|| path.file_name().map(PathBuf::from));
    let name = name.unwrap_or_else(|| PathBuf::from("root"));
    let written = write_one(&mut out, &path, &name, 0).and_then(|()| {
        out.write_all(&[0; 2 * BLOCK_BYTES])?;
        out.flush()
    });
    written.context("writing the archive")?;
    Ok(0)
}

/// Runs `extract PATH`: writes the files of the archive from standard input, over existing ones. Into the path if it is
/// a directory, otherwise to the path.
pub fn extract(arguments: &[String]) -> Result<u8> {
    let [target] = arguments else {
        return Err(Error::usage("extract: a path is needed"));
    };
    read_all(&mut io::stdin().lock(), target)?;
    Ok(0)
}

fn write_one(out: &mut impl Write, path: &Path, name: &Path, depth: usize) -> io::Result<()> {
    let skip = |why: &str| {
        say(&format!("{}: {why}: left out", path.display()));
        Ok(())
    };
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return skip(&error.to_string()),
    };
    if metadata.is_dir() {
        if depth == MAX_DEPTH {
            return skip("too deep");
        }
        let mut list = match entries(path) {
            Ok(list) => list,
            Err(error) => return skip(&error.to_string()),
        };
        write_header(out, name, DIRECTORY_KIND, &metadata, 0)?;
        list.sort();
        for entry in list {
            let Some(part) = entry.file_name() else { continue };
            write_one(out, &entry, &name.join(part), depth + 1)?;
        }
        return Ok(());
    }
    if !metadata.is_file() {
        return skip("neither a file nor a directory");
    }
    // It may be another file by now, such as a named pipe.
    let file = match open_shared(OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(error) => return skip(&error.to_string()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return skip("neither a file nor a directory");
    }
    let size = metadata.len();
    write_header(out, name, REGULAR_KIND, &metadata, size)?;
    // A file that grows is read up to this size, and one that is emptied filled with zeros.
    let copied = io::copy(&mut file.take(size), out)?;
    io::copy(&mut io::repeat(0).take(size - copied + padding(size)), out)?;
    Ok(())
}

fn write_header(out: &mut impl Write, name: &Path, kind: u8, metadata: &fs::Metadata, size: u64) -> io::Result<()> {
    let name = name.as_os_str().as_encoded_bytes();
    let time = u64::try_from(metadata.mtime()).unwrap_or(0);
    if name.len() >= NAME_BYTES {
        let size = name.len() as u64 + 1;
        out.write_all(&header(LONG_LINK_NAME, LONG_NAME_KIND, 0, 0, size))?;
        out.write_all(name)?;
        io::copy(&mut io::repeat(0).take(1 + padding(size)), out)?;
    }
    let name = &name[..name.len().min(NAME_BYTES - 1)];
    out.write_all(&header(name, kind, metadata.mode() & 0o777, time, size))
}

fn header(name: &[u8], kind: u8, mode: u32, time: u64, size: u64) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(NAME_OFFSET, name);
    put(MODE_OFFSET, format!("{mode:0MODE_DIGITS$o}").as_bytes());
    let octal = format!("{size:0NUMBER_DIGITS$o}");
    if octal.len() == NUMBER_DIGITS {
        put(SIZE_OFFSET, octal.as_bytes());
    } else {
        // GNU's form of numbers from 8 GiB on.
        let mut binary = [0; NUMBER_DIGITS + 1];
        binary[0] = 0x80;
        binary[NUMBER_DIGITS + 1 - 8..].copy_from_slice(&size.to_be_bytes());
        put(SIZE_OFFSET, &binary);
    }
    let octal = format!("{time:0NUMBER_DIGITS$o}");
    put(TIME_OFFSET, octal.get(..NUMBER_DIGITS).unwrap_or("0").as_bytes());
    put(KIND_OFFSET, &[kind]);
    put(MAGIC_OFFSET, GNU_MAGIC);
    let sum = format!("{:06o}\0 ", checksum(&block));
    block[CHECKSUM_OFFSET..CHECKSUM_OFFSET + CHECKSUM_BYTES].copy_from_slice(sum.as_bytes());
    block
}

/// The sum of all bytes, with spaces in the place of the sum.
fn checksum(block: &[u8; BLOCK_BYTES]) -> u32 {
    let byte = |(at, byte): (usize, &u8)| {
        let is_sum = (CHECKSUM_OFFSET..CHECKSUM_OFFSET + CHECKSUM_BYTES).contains(&at);
        u32::from(if is_sum { b' ' } else { *byte })
    };
    block.iter().enumerate().map(byte).sum()
}

fn number(field: &[u8]) -> Option<u64> {
    if field.first() == Some(&0x80) {
        let bytes: [u8; 8] = field.get(field.len() - 8..)?.try_into().ok()?;
        return Some(u64::from_be_bytes(bytes));
    }
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches([' ', '\0']), 8).ok()
}

/// The bytes after a content of this size, up to a whole block.
fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK_BYTES as u64) - size
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn read_all(input: &mut impl Read, target: &str) -> Result<()> {
    let into = target.ends_with('/') || Path::new(target).is_dir();
    let mut long_name = None;
    loop {
        let mut block = [0; BLOCK_BYTES];
        input.read_exact(&mut block).context("reading the archive")?;
        if block == [0; BLOCK_BYTES] {
            return Ok(());
        }
        let sum = number(&block[CHECKSUM_OFFSET..CHECKSUM_OFFSET + CHECKSUM_BYTES]);
        let size = number(&block[SIZE_OFFSET..=SIZE_OFFSET + NUMBER_DIGITS]);
        let (Some(size), true) = (size, sum == Some(u64::from(checksum(&block)))) else {
            return Err(Error::new("the input is not a tar archive"));
        };
        let kind = block[KIND_OFFSET];
        if kind == LONG_NAME_KIND {
            let mut name = Vec::new();
            let limited = input.by_ref().take(size.min(MAX_PATH_BYTES));
            { limited }.read_to_end(&mut name).context("reading the archive")?;
            skip(input, size.saturating_sub(MAX_PATH_BYTES) + padding(size))?;
            long_name = Some(until_zero(&name).to_vec());
            continue;
        }
        let name = long_name.take();
        let name = name.unwrap_or_else(|| until_zero(&block[NAME_OFFSET..NAME_OFFSET + NAME_BYTES]).to_vec());
        let path = destination(target, into, &name)?;
        let mode = number(&block[MODE_OFFSET..=MODE_OFFSET + MODE_DIGITS]);
        let mode = mode.and_then(|mode| u32::try_from(mode & 0o777).ok()).unwrap_or(0o600);
        match kind {
            DIRECTORY_KIND => {
                let made = DirBuilder::new().recursive(true).mode(mode | 0o700).create(&path);
                made.path_context("creating", &path)?;
                skip(input, size + padding(size))?;
            }
            REGULAR_KIND | OLD_REGULAR_KIND => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(mode);
                let mut file = options.open(&path).path_context("writing", &path)?;
                let copied = io::copy(&mut input.by_ref().take(size), &mut file).path_context("writing", &path)?;
                if copied < size {
                    return Err(Error::new("the archive is incomplete"));
                }
                skip(input, padding(size))?;
            }
            _ => {
                return Err(Error::new(format!(
                    "{}: neither a file nor a directory",
                    path.display()
                )));
            }
        }
    }
}

fn skip(input: &mut impl Read, bytes: u64) -> Result<()> {
    io::copy(&mut input.take(bytes), &mut io::sink()).context("reading the archive")?;
    Ok(())
}

/// Where an entry belongs. `into`: below the target; otherwise the target is in the place of its first part.
fn destination(target: &str, into: bool, name: &[u8]) -> Result<PathBuf> {
    let name = std::str::from_utf8(name).context("reading a name in the archive")?;
    let parts: Option<Vec<&str>> = Path::new(name)
        .components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let parts = parts.ok_or_else(|| Error::new(format!("the archive has the name '{name}', which is not relative")))?;
    let mut path = PathBuf::from(target);
    path.extend(parts.into_iter().skip(usize::from(!into)));
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn packed(path: &Path) -> Vec<u8> {
        let mut out = Vec::new();
        write_one(&mut out, path, Path::new(path.file_name().unwrap()), 0).unwrap();
        out.extend([0; 2 * BLOCK_BYTES]);
        out
    }

    fn unpack(archive: &[u8], target: &Path) -> Result<()> {
        read_all(&mut &*archive, target.to_str().unwrap())
    }

    #[test]
    fn a_directory_is_packed_and_unpacked() {
        let scratch = tempfile::tempdir().unwrap();
        let source = scratch.path().join("log");
        let deep = source.join("x".repeat(90)).join("y".repeat(90));
        fs::create_dir_all(&deep).unwrap();
        let files = [
            (source.join("empty"), Vec::new()),
            (source.join("block"), vec![1; BLOCK_BYTES]),
            (deep.join("long.log"), b"hello\n".to_vec()),
        ];
        for (path, content) in &files {
            fs::write(path, content).unwrap();
        }
        fs::set_permissions(source.join("block"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("/etc/passwd", source.join("link")).unwrap();

        let archive = packed(&source);
        assert_eq!(archive.len() % BLOCK_BYTES, 0);
        let into = scratch.path().join("into");
        fs::create_dir(&into).unwrap();
        let renamed = scratch.path().join("renamed");
        unpack(&archive, &into).unwrap();
        unpack(&archive, &renamed).unwrap();
        for target in [into.join("log"), renamed] {
            for (path, content) in &files {
                let copy = target.join(path.strip_prefix(&source).unwrap());
                assert_eq!(&fs::read(&copy).unwrap(), content, "{}", copy.display());
            }
            assert!(!target.join("link").exists());
            let mode = fs::metadata(target.join("block")).unwrap().mode();
            assert_eq!(mode & 0o777, 0o640);
        }
    }

    #[test]
    fn a_file_is_written_to_a_new_name_or_into_a_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let source = scratch.path().join("a");
        fs::write(&source, "text").unwrap();
        let archive = packed(&source);
        fs::create_dir(scratch.path().join("d")).unwrap();
        unpack(&archive, &scratch.path().join("b")).unwrap();
        unpack(&archive, &scratch.path().join("d")).unwrap();
        for copy in ["b", "d/a"] {
            assert_eq!(fs::read_to_string(scratch.path().join(copy)).unwrap(), "text");
        }
        let why = unpack(&archive, &scratch.path().join("missing/b")).unwrap_err();
        assert!(why.text.starts_with("writing "), "{}", why.text);
    }

    #[test]
    fn other_input_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let refused = |archive: &[u8]| unpack(archive, scratch.path()).unwrap_err().text;
        let mut up = header(b"../a", REGULAR_KIND, 0o600, 0, 0).to_vec();
        up.extend([0; BLOCK_BYTES]);
        assert!(refused(&up).contains("'../a', which is not relative"));
        assert!(refused(&header(b"link", b'2', 0o600, 0, 0)).contains("neither a file nor a directory"));
        assert_eq!(refused(&[7; BLOCK_BYTES]), "the input is not a tar archive");
        let mut cut = header(b"a", REGULAR_KIND, 0o600, 0, 10).to_vec();
        cut.extend(b"text");
        assert_eq!(refused(&cut), "the archive is incomplete");
    }

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for size in [0, 7, 0o77_777_777_777, 1 << 33, 1 << 40] {
            let block = header(b"a", REGULAR_KIND, 0o644, 5, size);
            assert_eq!(number(&block[SIZE_OFFSET..=SIZE_OFFSET + NUMBER_DIGITS]), Some(size));
            assert_eq!(
                number(&block[CHECKSUM_OFFSET..CHECKSUM_OFFSET + CHECKSUM_BYTES]),
                Some(u64::from(checksum(&block)))
            );
        }
    }
}
