//! An adapter's exit code: the messages for each subcommand (`spec/contracts/adapter-protocol.md` §1.6).

use std::fs;

use odb_stories::{Broker, Foundation, LogLine, Order, Response, new_id};
use serde_json::Value;

/// Fails as the file `fail-SUBCOMMAND` says, the code in its first line and what to print in the second.
const FAILING: &str = r#"read_input
if [[ -e $folder/fail-$call ]]; then
  { read -r code; read -r says; } <"$folder/fail-$call"
  printf '%s' "$says"
  echo "stderr of $call" >&2
  [[ $code == signal ]] && kill -SEGV $$
  exit "$code"
fi
as_redis"#;

const WORDS: &str = "Choose another zone.";

/// The user's message.
#[derive(Clone, Copy, Debug)]
enum Reported {
    /// The contact and the id to quote.
    WhomToAsk,
    /// The adapter's own words.
    Words,
    /// This, whatever the adapter says.
    This(u16, &'static str),
}

/// The exit code of the adapter, its output, and the user's message.
type Row = (&'static str, &'static str, Reported);

const UNKNOWN: [Row; 6] = [
    ("1", WORDS, Reported::Words),
    ("1", "", Reported::WhomToAsk),
    ("2", "", Reported::WhomToAsk),
    ("77", WORDS, Reported::Words),
    ("signal", WORDS, Reported::Words),
    ("signal", "", Reported::WhomToAsk),
];

/// Codes at calls for which they have no meaning. The Go broker still answers an order with those of a dashboard.
const ELSEWHERE: [Row; 3] = [
    ("41", WORDS, Reported::WhomToAsk),
    ("42", WORDS, Reported::WhomToAsk),
    ("49", WORDS, Reported::WhomToAsk),
];

const NOT_IMPLEMENTED: [Row; 1] = [("10", WORDS, Reported::WhomToAsk)];

const OF_A_BIND: [Row; 3] = [
    ("41", WORDS, Reported::WhomToAsk),
    ("42", WORDS, Reported::This(422, "app_guid")),
    ("49", WORDS, Reported::This(409, "binding already exists")),
];

const OF_AN_UNBIND: [Row; 3] = [
    ("41", WORDS, Reported::This(410, "")),
    ("42", WORDS, Reported::WhomToAsk),
    ("49", WORDS, Reported::WhomToAsk),
];

/// Lets the adapter fail in one subcommand until the end of its life.
struct Failing<'f> {
    foundation: &'f Foundation,
    call: &'static str,
}

impl<'f> Failing<'f> {
    fn new(foundation: &'f Foundation, call: &'static str, (code, says, _): Row) -> Self {
        let file = foundation.folder().join(format!("fail-{call}"));
        fs::write(file, format!("{code}\n{says}\n")).expect("the test made the folder");
        Self { foundation, call }
    }
}

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        let file = self.foundation.folder().join(format!("fail-{}", self.call));
        fs::remove_file(file).expect("it was written before");
    }
}

async fn broker(foundation: &Foundation) -> Broker {
    let adapter = foundation.adapters().script(FAILING);
    foundation.broker().with_adapter(&adapter).start().await
}

/// The user gets what the row says, and the operator finds how the adapter ended and what it said to operators.
fn expect(broker: &Broker, call: &str, row: Row, answer: &Response) {
    let about = format!("{call} {row:?}: {answer:?}");
    let (_, _, reported) = row;
    match reported {
        Reported::WhomToAsk => {
            assert_eq!(answer.status, 500, "{about}");
            let description = answer.description();
            assert!(description.starts_with("There was a problem"), "{about}");
            assert!(!description.contains(WORDS), "{about}");
        }
        Reported::Words => {
            assert_eq!(
                (answer.status, answer.description().as_str()),
                (500, WORDS),
                "{about}"
            );
        }
        Reported::This(status, text) => {
            assert_eq!(answer.status, status, "{about}");
            assert!(
                answer.text.contains(text) && !answer.text.contains(WORDS),
                "{about}"
            );
        }
    }
    let log = broker.log_of_request(&answer.request_id());
    let cause = |line: &LogLine| {
        [format!("ended `{call}` with"), format!("stderr of {call}")]
            .iter()
            .all(|text| line.mentions(text))
    };
    assert!(log.iter().any(cause), "{about} {log:#?}");
    assert!(!answer.text.contains("stderr of"), "{about}");
}

#[tokio::test]
async fn an_order_that_the_adapter_fails_is_answered_by_its_exit_code() {
    let foundation = Foundation::start().await;
    let broker = broker(&foundation).await;
    let platform = broker.platform();
    let (manifest, dashboard) = ("generate-manifest", "dashboard-url");
    let rows = [&UNKNOWN[..], &NOT_IMPLEMENTED, &ELSEWHERE].concat();
    let rows = rows.into_iter().map(|row| (manifest, row));
    let of_dashboards = [&UNKNOWN[..], &ELSEWHERE].concat();
    let of_dashboards = of_dashboards.into_iter().map(|row| (dashboard, row));

    for (call, row) in rows.chain(of_dashboards) {
        let _failing = Failing::new(&foundation, call, row);
        let answer = platform.provision(&new_id(), &Order::small()).await;
        expect(&broker, call, row, &answer);
    }
    foundation.director().expect_untouched().await;

    let _failing = Failing::new(
        &foundation,
        dashboard,
        ("10", WORDS, Reported::This(202, "")),
    );
    let answer = platform.provision(&new_id(), &Order::small()).await;
    answer.accepted();
    assert_eq!(answer.json()["dashboard_url"], Value::Null);
}

#[tokio::test]
async fn a_binding_that_the_adapter_fails_is_answered_by_its_exit_code() {
    let foundation = Foundation::start().await;
    let broker = broker(&foundation).await;
    let (platform, instance, binding) = (broker.platform(), new_id(), new_id());
    platform.create(&instance).await;

    for row in [&UNKNOWN[..], &NOT_IMPLEMENTED, &OF_A_BIND].concat() {
        let failing = Failing::new(&foundation, "create-binding", row);
        let answer = platform.bind(&instance, &binding).await;
        expect(&broker, failing.call, row, &answer);
    }
    for row in [&UNKNOWN[..], &NOT_IMPLEMENTED, &OF_AN_UNBIND].concat() {
        let failing = Failing::new(&foundation, "delete-binding", row);
        let answer = platform.unbind(&instance, &binding).await;
        expect(&broker, failing.call, row, &answer);
    }
}
