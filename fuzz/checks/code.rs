//! Streams of code samples and lists of names made of any bytes: no panic, no endless loop, events in
//! time order, a user side only for samples in the kernel.

use rtscope_decode::ReadAt;
use rtscope_decode::code::{CodeStream, Ipe, Names};
use rtscope_model::manifest::{Code, CodeEvent, CodeSource};
use rtscope_model::{Body, Time};
use std::sync::Arc;

/// The first four bytes choose the layout and where to split the rest into names
/// and two streams.
///
/// # Panics
/// If a check fails.
pub fn check(data: &[u8]) {
    let Some(([choice, for_names, first, _], bytes)) = data.split_first_chunk() else { return };
    let (json, bytes) = bytes.split_at(bytes.len() * usize::from(*for_names) / 255);
    let (one, two) = bytes.split_at(bytes.len() * usize::from(*first) / 255);
    let names = Names::parse(json).unwrap_or_default();
    let event = |ids: &[u64], what| CodeEvent { ids: ids.to_vec(), what };
    let code = Code {
        period_ns: 10_000_000,
        streams: vec!["code/cpu0.perf".into(), "code/cpu1.perf".into()],
        sample_type: if choice & 1 == 1 { 0x110a7 } else { 0x100a7 },
        events: vec![event(&[0, 70], CodeSource::Timer), event(&[71], CodeSource::Waits)],
        ..Code::default()
    };
    let ipe = names.ranges().into_iter().map(|(address, _)| Ipe { address, name: "a".into(), source: String::new() });
    let source = |bytes: &[u8]| Arc::new(bytes.to_vec()) as Arc<dyn ReadAt>;
    let opened = CodeStream::open(&code, vec![source(one), source(two)], &names, &ipe.collect::<Vec<_>>());
    let mut stream = opened.expect("streams and layout fit");
    let symbols = stream.symbols().clone();
    let mut last = Time(0);
    for event in stream.by_ref() {
        assert!(event.time >= last);
        last = event.time;
        let Body::Code(sample) = event.body else { panic!("{event:?}") };
        // Every id is valid; a place in the kernel belongs to the kernel.
        let in_kernel = symbols.get(sample.leaf).module == "[kernel]";
        assert!(in_kernel || sample.user.is_none());
    }
    assert!(stream.losses().len() <= 2 * 512);
}
