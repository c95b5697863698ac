//! Messages over TCP: two bytes of length, then the message.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Reads a message; `None` if the client closed the connection or sent no question.
pub(super) async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut length = [0; 2];
    match stream.read_exact(&mut length).await {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut packet = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut packet).await?;
    Ok(Some(packet))
}

pub(super) async fn write(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let Ok(length) = u16::try_from(bytes.len()) else {
        return Err(std::io::ErrorKind::InvalidData.into());
    };
    let mut all = length.to_be_bytes().to_vec();
    all.extend_from_slice(bytes);
    stream.write_all(&all).await
}
