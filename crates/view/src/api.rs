//! Answers requests that were admitted: files of the page, the session, tiles, pauses and sums
//! (`docs/formats/view.md`). Owns the forms of requests and answers; refuses to know of sockets, and to do more than
//! a bounded amount of work for any request.

use super::assets;
use super::pauses::{Book, Order};
use super::session::{AccountTrack, AccountTracks, Form, Session};
use super::sums::{self, Wanted};
use hyper::StatusCode;
use hyper::body::Bytes;
use rtscope_draw::tree::{Top, Tree};
use rtscope_levels::{Item, Range, Reader};
use rtscope_model::{Node, units};
use rtscope_report::kinds::role_of_part;
use serde_json::json;
use std::borrow::Cow;
use std::collections::HashMap;
use std::str::FromStr;

/// Maximum tiles, or tracks, of one request.
const AT_ONCE: usize = 64;
/// Maximum pauses of one answer.
const PAUSES_MAX: usize = 1_000;
/// Maximum results of a search.
const FOUND_MAX: usize = 100;

const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";
const BINARY: &str = "application/octet-stream";
const TEXT: &str = "text/plain; charset=utf-8";

/// A recording that is shown.
pub struct View {
    session: Session,
    tracks: HashMap<u32, Form>,
    session_json: Bytes,
    report_json: Bytes,
    levels: Reader,
    book: Book,
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Reply {
    /// 200, or the reason for a refusal.
    pub status: StatusCode,
    /// Content type.
    pub kind: &'static str,
    /// The content; for a refusal, a sentence.
    pub body: Bytes,
}

impl Reply {
    fn new(kind: &'static str, body: impl Into<Bytes>) -> Reply {
        Reply { status: StatusCode::OK, kind, body: body.into() }
    }

    /// A refusal with the status's own words.
    pub fn refusal(status: StatusCode) -> Reply {
        Reply::text(status, status.canonical_reason().unwrap_or("refused"))
    }

    fn text(status: StatusCode, why: impl std::fmt::Display) -> Reply {
        Reply { status, kind: TEXT, body: format!("{why}\n").into() }
    }

    fn wrong(why: impl std::fmt::Display) -> Reply {
        Reply::text(StatusCode::BAD_REQUEST, why)
    }
}

/// For data of the recording that cannot be read.
impl<E: std::error::Error> From<E> for Reply {
    fn from(error: E) -> Reply {
        Reply::text(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl View {
    /// A recording to be served: its session, its report as `report --json` prints it, its levels of detail and
    /// its pauses.
    pub fn new(mut session: Session, report_json: Vec<u8>, levels: Reader, book: Book) -> View {
        // The file knows best how many levels it has.
        let tracks = session.groups.iter_mut().flat_map(|group| &mut group.tracks);
        tracks.for_each(|track| track.top = levels.top());
        let session_json = serde_json::to_vec(&session).unwrap_or_default().into();
        let tracks = session.tracks().map(|track| (track.id, track.form)).collect();
        View { session, tracks, session_json, report_json: report_json.into(), levels, book }
    }

    /// The session, which the page reads first.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The answer to a path below the token and its query.
    pub fn answer(&self, path: &str, query: &str) -> Reply {
        if let Some(asset) = assets::find(path) {
            return Reply::new(asset.kind, asset.text);
        }
        let asked = Query(query);
        let done = match path {
            "session.json" => Ok(Reply::new(JSON, self.session_json.clone())),
            "report.json" => Ok(Reply::new(JSON, self.report_json.clone())),
            "tile" => self.tile(asked, false),
            "values" => self.tile(asked, true),
            "tiles" => self.tiles(asked, false),
            "lines" => self.tiles(asked, true),
            "pauses" => self.pauses(asked),
            "pause" => self.pause(asked),
            "summary" => self.summary(asked),
            "account" => self.account(asked),
            "find" => self.find(asked),
            _ => Err(Reply::refusal(StatusCode::NOT_FOUND)),
        };
        done.unwrap_or_else(|refused| refused)
    }

    fn records(&self, values: bool, track: u32, level: u8, tile: u64) -> Result<Vec<u8>, Reply> {
        match self.tracks.get(&track).filter(|form| (**form == Form::Values) == values) {
            None => Err(Reply::wrong(format!("no track {track} of this form"))),
            Some(_) if level > self.levels.top() => Err(Reply::wrong(format!("there is no level {level}"))),
            Some(_) if values => {
                let ranges = sums::points(&self.levels, track, level, tile)?;
                Ok(ranges.iter().flat_map(range_bytes).collect())
            }
            Some(_) => {
                let items = sums::items(&self.levels, track, level, tile)?;
                Ok(items.iter().flat_map(item_bytes).collect())
            }
        }
    }

    fn tile(&self, asked: Query<'_>, values: bool) -> Result<Reply, Reply> {
        let (track, level, tile) = (asked.number("track")?, asked.number("level")?, asked.number("tile")?);
        Ok(Reply::new(BINARY, self.records(values, track, level, tile)?))
    }

    /// Several tiles of one level, each after a head: its track, the number of records, and its tile number.
    fn tiles(&self, asked: Query<'_>, values: bool) -> Result<Reply, Reply> {
        let level = asked.number("level")?;
        let mut body = Vec::new();
        for wanted in asked.list("want")? {
            let (track, tile) = wanted.split_once('.').ok_or_else(|| Reply::wrong("want is TRACK.TILE,…"))?;
            let (track, tile) = (number::<u32>("track", track)?, number::<u64>("tile", tile)?);
            let records = self.records(values, track, level, tile)?;
            let count = records.len() / if values { RANGE_BYTES } else { ITEM_BYTES };
            body.extend_from_slice(&track.to_le_bytes());
            body.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
            body.extend_from_slice(&(tile as f64).to_le_bytes());
            body.extend_from_slice(&records);
        }
        Ok(Reply::new(BINARY, body))
    }

    /// Converts a time of the session to the trace clock.
    fn on_clock(&self, at: u64) -> u64 {
        self.session.from_ns.saturating_add(at)
    }

    fn interval(&self, asked: Query<'_>) -> Result<(u64, u64), Reply> {
        Ok((asked.number("from")?, asked.number("to")?))
    }

    fn pauses(&self, asked: Query<'_>) -> Result<Reply, Reply> {
        let (from, to) = self.interval(asked)?;
        let min = asked.number_or("min", 0)?;
        let limit = asked.number_or("limit", 50usize)?.min(PAUSES_MAX);
        let order = match asked.text("order") {
            None | Some("longest") => Order::Longest,
            Some("first") => Order::First,
            Some("last") => Order::Last,
            Some(_) => return Err(Reply::wrong("order is longest, first or last")),
        };
        let lines = self.book.lines(self.on_clock(from), self.on_clock(to), min, limit, order);
        Ok(Reply::new(LINES, lines?))
    }

    fn pause(&self, asked: Query<'_>) -> Result<Reply, Reply> {
        let id: u64 = asked.number("id")?;
        let line = self.book.line_of(id)?;
        let none = || Reply::text(StatusCode::NOT_FOUND, format!("there is no pause {id}"));
        Ok(Reply::new(JSON, line.ok_or_else(none)?))
    }

    /// How an interval was spent: pauses, and kinds of spans by track.
    fn summary(&self, asked: Query<'_>) -> Result<Reply, Reply> {
        let (from, to) = self.interval(asked)?;
        let to = to.min(self.session.span_ns);
        let parts = self.book.parts(self.on_clock(from), self.on_clock(to))?;
        let mut tracks = Vec::new();
        for id in self.spans(asked)? {
            let sums = sums::sums(&self.levels, id, from..to)?;
            let kinds: Vec<_> =
                sums.iter().map(|(kind, sum)| json!({"kind": kind, "ns": sum.ns, "count": sum.count})).collect();
            tracks.push(json!({"id": id, "kinds": kinds}));
        }
        Ok(json_reply(&json!({"from_ns": from, "to_ns": to, "pauses": parts, "tracks": tracks})))
    }

    /// Where the time of all lanes went in an interval.
    fn account(&self, asked: Query<'_>) -> Result<Reply, Reply> {
        let (from, to) = self.interval(asked)?;
        let to = to.min(self.session.span_ns);
        let AccountTracks { tracks, parts, .. } = &self.session.account;
        let mut sums: Vec<(Cow<'_, [Node]>, u64)> = Vec::new();
        for AccountTrack { id, top } in tracks {
            let further = || Cow::Owned(vec![top.clone(), Node::leaf("further", "further parts", 0)]);
            let path = |part: u16| parts.get(usize::from(part)).map_or_else(further, |path| Cow::Borrowed(&path[..]));
            sums.extend(sums::sums(&self.levels, *id, from..to)?.iter().map(|(part, sum)| (path(*part), sum.ns)));
        }
        let tops = Node::tree(sums.iter().map(|(path, ns)| (&path[..], *ns)));
        let lanes_ns: u64 = tops.iter().map(|top| top.ns).sum();
        let lanes = units::counted(self.session.account.lanes as u64, &self.session.lane, &self.session.lanes);
        let tree = Tree {
            head: "Where the time went".to_owned(),
            whole: format!("{} of {lanes}", units::duration(lanes_ns)),
            whole_ns: lanes_ns,
            tops: tops.iter().map(|part| Top { role: role_of_part(&part.id), part }).collect(),
            lines: 0,
            folded: false,
        };
        Ok(json_reply(&json!(tree)))
    }

    /// The longest spans of a kind, or with a name.
    fn find(&self, asked: Query<'_>) -> Result<Reply, Reply> {
        let wanted = match (asked.text("kind"), asked.text("detail")) {
            (Some(kind), None) => Wanted::Kind(number("kind", kind)?),
            (None, Some(detail)) => Wanted::Detail(number("detail", detail)?),
            _ => return Err(Reply::wrong("find takes kind or detail")),
        };
        let mut found = Vec::new();
        for track in self.spans(asked)? {
            let items = sums::longest(&self.levels, track, wanted, FOUND_MAX);
            found.extend(items?.into_iter().map(|item| (track, item)));
        }
        found.sort_by_key(|(_, item)| std::cmp::Reverse(item.covered_ns));
        found.truncate(FOUND_MAX);
        let one = |(track, item): &(u32, Item)| json!({"track": track, "from_ns": item.from, "to_ns": item.to, "kind": item.kind, "count": item.count});
        Ok(json_reply(&json!(found.iter().map(one).collect::<Vec<_>>())))
    }

    /// The tracks of spans that are asked for.
    fn spans(&self, asked: Query<'_>) -> Result<Vec<u32>, Reply> {
        let mut tracks = Vec::new();
        for text in asked.list("tracks")? {
            let id = number("tracks", text)?;
            let known = self.tracks.get(&id).filter(|form| **form != Form::Values);
            known.ok_or_else(|| Reply::wrong(format!("no track {id} of spans")))?;
            tracks.push(id);
        }
        Ok(tracks)
    }
}

fn json_reply(value: &serde_json::Value) -> Reply {
    Reply::new(JSON, value.to_string())
}

const ITEM_BYTES: usize = 32;
const RANGE_BYTES: usize = 40;

fn item_bytes(item: &Item) -> impl Iterator<Item = u8> {
    let length = item.to.saturating_sub(item.from).max(1);
    let share = if item.covered_ns >= length { 1.0 } else { item.covered_ns as f64 / length as f64 };
    let ends = [item.from as f64, item.to as f64].map(f64::to_le_bytes);
    let rest = [item.count, u32::from(item.kind), item.detail, (share as f32).to_bits()].map(u32::to_le_bytes);
    ends.into_iter().flatten().chain(rest.into_iter().flatten())
}

fn range_bytes(range: &Range) -> impl Iterator<Item = u8> {
    let numbers = [range.from as f64, range.to as f64, range.min as f64, range.max as f64, range.last as f64];
    numbers.map(f64::to_le_bytes).into_iter().flatten()
}

/// The query of a request. Only numbers and known words: nothing is ever decoded.
#[derive(Copy, Clone)]
struct Query<'q>(&'q str);

impl<'q> Query<'q> {
    fn text(self, key: &str) -> Option<&'q str> {
        self.0.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| *name == key).map(|(_, text)| text)
    }

    fn number<T: FromStr>(self, key: &str) -> Result<T, Reply> {
        number(key, self.text(key).ok_or_else(|| Reply::wrong(format!("{key} is missing")))?)
    }

    fn number_or<T: FromStr>(self, key: &str, default: T) -> Result<T, Reply> {
        self.text(key).map_or(Ok(default), |text| number(key, text))
    }

    fn list(self, key: &str) -> Result<Vec<&'q str>, Reply> {
        let text = self.text(key).ok_or_else(|| Reply::wrong(format!("{key} is missing")))?;
        let list: Vec<&str> = text.split(',').filter(|one| !one.is_empty()).take(AT_ONCE + 1).collect();
        if list.len() > AT_ONCE { Err(Reply::wrong(format!("at most {AT_ONCE} at once"))) } else { Ok(list) }
    }
}

fn number<T: FromStr>(key: &str, text: &str) -> Result<T, Reply> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain).ok_or_else(|| Reply::wrong(format!("{key} is no number of its kind")))
}
