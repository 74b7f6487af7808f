//! Writes copied words in a thread of its own: a disk that makes a writer wait must not
//! delay copying. Owns that thread and how much may wait for it.

use crate::system::worker::{Shared, Worker};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// If more waits, words are left in their rings: they may survive there too.
const WAITING_MAX: u64 = 64 << 20;
/// Buffers kept for reuse.
const SPARE_MAX: usize = 8;

/// Bytes to append to a file.
#[derive(Debug)]
pub struct WriteJob {
    /// The file, opened to append.
    pub file: Arc<File>,
    /// Its name in the capture.
    pub name: String,
    /// Its size before, to which it is truncated if the bytes cannot be written.
    pub size: u64,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Desk {
    waiting: u64,
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
pub struct Pen {
    jobs: Sender<WriteJob>,
    worker: Worker<Desk>,
}

impl Pen {
    /// Starts the thread; `failed` is called for each job that could not be written.
    pub fn start(failed: impl Fn(&str, &io::Error) + Send + 'static) -> io::Result<Pen> {
        let (jobs, todo) = channel();
        let shared = Shared::new(Desk::default())?;
        let work = move |desk: &Shared<Desk>| write_all(&todo, desk, &failed);
        Ok(Pen { jobs, worker: Worker::run(shared, "rings-disk", || {}, work)? })
    }

    pub fn write(&self, job: WriteJob) {
        self.worker.lock().waiting += job.bytes.len() as u64;
        // Sending fails only if the thread is gone, and nothing can be done then.
        let _ = self.jobs.send(job);
    }

    /// Whether so much waits that nothing more should be added.
    pub fn is_full(&self) -> bool {
        self.worker.lock().waiting > WAITING_MAX
    }

    pub fn buffer(&self) -> Vec<u8> {
        self.worker.lock().spare.pop().unwrap_or_default()
    }

    pub fn written_bytes(&self) -> u64 {
        self.worker.written_bytes()
    }

    /// Waits until everything is written; returns the total bytes written.
    pub fn finish(mut self) -> u64 {
        drop(self.jobs);
        self.worker.join();
        self.worker.written_bytes()
    }
}

fn write_all(todo: &Receiver<WriteJob>, desk: &Shared<Desk>, failed: &dyn Fn(&str, &io::Error)) {
    for WriteJob { file, name, size, mut bytes } in todo {
        let count = bytes.len() as u64;
        match (&*file).write_all(&bytes) {
            Ok(()) => desk.add_written(count),
            Err(error) => {
                let _ = file.set_len(size);
                failed(&name, &error);
            }
        }
        bytes.clear();
        let mut desk = desk.lock();
        desk.waiting = desk.waiting.saturating_sub(count);
        if desk.spare.len() < SPARE_MAX {
            desk.spare.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::sync::Mutex;

    #[test]
    fn bytes_are_written_in_order_and_a_full_disk_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let file = Arc::new(OpenOptions::new().append(true).create_new(true).open(&path).unwrap());
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reported);
        let pen = Pen::start(move |name, error| sink.lock().unwrap().push((name.to_owned(), error.kind()))).unwrap();
        for (size, text) in [(0, "one"), (3, "two")] {
            let job = WriteJob { file: Arc::clone(&file), name: "x".into(), size, bytes: text.into() };
            pen.write(job);
        }
        if let Ok(full) = OpenOptions::new().write(true).open("/dev/full") {
            pen.write(WriteJob { file: Arc::new(full), name: "full".into(), size: 0, bytes: vec![1] });
        }
        assert!(!pen.is_full());
        assert_eq!(pen.finish(), 6);
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
        assert!(
            reported.lock().unwrap().iter().all(|reported| *reported == ("full".into(), io::ErrorKind::StorageFull))
        );
    }
}
