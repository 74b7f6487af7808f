//! Figures on the page of the viewer: `web/tests/units.json` says what they look like, and both the page and
//! the reports are checked against it.

use rtscope_model::units;

#[test]
fn the_reports_say_figures_as_the_page_does() {
    let table: serde_json::Value =
        serde_json::from_str(include_str!("../../../../web/tests/units.json")).expect("the table is JSON");
    let mut rows = 0;
    for (name, cases) in table.as_object().expect("tables") {
        for case in cases.as_array().expect("rows") {
            let (value, text) = (&case[0], case[1].as_str().expect("a text"));
            let whole = value.as_u64().unwrap_or_default();
            let said = match name.as_str() {
                "duration" => units::duration(whole),
                "bytes" => units::bytes(whole),
                "count" => units::count(whole),
                "percent" => units::percent(value.as_f64().expect("a share")),
                other => panic!("{other} has no words"),
            };
            assert_eq!(said, text, "{name} of {value}");
            rows += 1;
        }
    }
    assert!(rows > 50);
}
