use std::fs::File;
use std::io::{self, Write};

/// What a [`Tail`] needs of a file.
pub(super) trait Target {
    /// Appends in one call to the system; answers how many bytes there was room for.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file off at this length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Returns once everything written is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// For a file that was opened to append: what is written after a cut goes to the new end.
impl Target for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match Write::write(self, bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                ended => return ended,
            }
        }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// The end of a journal's file, to which whole lines are added, or nothing.
#[derive(Debug)]
pub(super) struct Tail<T> {
    target: T,
    /// How far the file holds what it should, in bytes.
    length: u64,
    /// Whether there may be more in the file than that.
    ragged: bool,
}

impl<T: Target> Tail<T> {
    /// The end of a file that holds `length` good bytes, and where it is `ragged` others after them.
    pub(super) fn new(target: T, length: u64, ragged: bool) -> Self {
        Self { target, length, ragged }
    }

    /// Adds these bytes, on the disk when this returns where they are to be `durable`.
    ///
    /// # Errors
    ///
    /// Where they could not be written whole, or not be made durable. They are cut off again, now or, where that
    /// fails too, before the next are added.
    pub(super) fn append(&mut self, bytes: &[u8], durable: bool) -> io::Result<()> {
        self.repair()?;
        // Said before it is so: nothing that goes wrong from here on leaves it unsaid.
        self.ragged = true;
        match self.try_append(bytes, durable) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                self.ragged = false;
                Ok(())
            }
            Err(error) => {
                let _ = self.repair();
                Err(error)
            }
        }
    }

    /// Cuts off what does not belong there.
    pub(super) fn repair(&mut self) -> io::Result<()> {
        if self.ragged {
            self.target.cut(self.length)?;
            self.ragged = false;
        }
        Ok(())
    }

    fn try_append(&mut self, bytes: &[u8], durable: bool) -> io::Result<()> {
        let written = self.target.write(bytes)?;
        if written < bytes.len() {
            let message = format!("only {written} of {} bytes were written; the disk may be full", bytes.len());
            return Err(io::Error::new(io::ErrorKind::WriteZero, message));
        }
        if durable { self.target.sync() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of so many bytes, which can refuse to cut and to sync.
    #[derive(Default)]
    struct Disk {
        content: Vec<u8>,
        room: usize,
        cuts: bool,
        syncs: bool,
    }

    impl Target for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.room - self.content.len());
            self.content.extend(&bytes[..fits]);
            if fits == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(fits) }
        }

        fn cut(&mut self, length: u64) -> io::Result<()> {
            if !self.cuts {
                return Err(io::ErrorKind::Other.into());
            }
            self.content.truncate(usize::try_from(length).unwrap());
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            if self.syncs { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
        }
    }

    fn tail(room: usize) -> Tail<Disk> {
        Tail::new(Disk { room, cuts: true, syncs: true, ..Disk::default() }, 0, false)
    }

    #[test]
    fn a_full_disk_keeps_no_half_line_and_takes_lines_again() {
        let mut tail = tail(12);
        tail.append(b"first\n", true).unwrap();
        assert_eq!(tail.append(b"too long\n", false).unwrap_err().kind(), io::ErrorKind::WriteZero);
        assert_eq!(tail.target.content, b"first\n");
        tail.append(b"short\n", false).unwrap();
        assert_eq!(tail.append(b"x\n", false).unwrap_err().kind(), io::ErrorKind::StorageFull);
        tail.target.room = 100;
        tail.append(b"last\n", true).unwrap();
        assert_eq!(tail.target.content, b"first\nshort\nlast\n");
    }

    #[test]
    fn a_half_line_that_cannot_be_cut_is_cut_before_the_next() {
        let mut tail = tail(4);
        tail.target.cuts = false;
        tail.append(b"too long\n", false).unwrap_err();
        assert_eq!(tail.target.content, b"too ");
        tail.target.room = 100;
        tail.append(b"next\n", false).unwrap_err();
        assert_eq!(tail.target.content, b"too ");
        tail.target.cuts = true;
        tail.append(b"next\n", false).unwrap();
        assert_eq!(tail.target.content, b"next\n");
    }

    #[test]
    fn a_line_that_is_not_durable_when_it_has_to_be_is_none() {
        let mut tail = tail(100);
        tail.target.syncs = false;
        tail.append(b"kept\n", false).unwrap();
        tail.append(b"lost\n", true).unwrap_err();
        assert_eq!(tail.target.content, b"kept\n");
    }
}
