//! Tests that need nothing but the build. Owns the list of its files; `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

#[path = "../answers/mod.rs"]
mod answers;

mod account;
mod bad_logs;
mod bench;
mod bench_stm;
mod bench_stm_html;
mod bindings_c;
mod bindings_machines;
mod bindings_stm;
mod doctor;
mod export;
mod figures;
mod hostile_captures;
mod hostile_names;
mod lane_states;
mod load_html;
mod machine;
mod machines;
mod pack;
mod plan;
mod plan_formats;
mod report_compare;
mod report_html;
mod report_html_figures;
mod report_json;
mod report_page;
mod report_text;
mod top_view;
mod tune_jobs;
mod tune_replay;
mod tune_store;
mod view_server;
mod view_tracks;
mod view_words;
