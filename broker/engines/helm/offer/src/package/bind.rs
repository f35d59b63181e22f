//! `bind.yaml`: a Jsonnet expression that makes credentials. Here it is parsed and not evaluated.

use odb_api_types::finding::Location;
use rsjsonnet_lang::{
    arena::Arena,
    interner::StrInterner,
    lexer::{LexError, Lexer},
    parser::{ActualToken, ParseError, Parser},
    span::{SpanId, SpanManager},
    token::{STokenKind as S, TokenKind},
};

use crate::{
    findings::Findings,
    section::{File, Found},
};

pub(crate) const NAMES: &[&str] = &["bind.yaml", "bind.yml"];

/// Larger ones are refused before they are parsed.
const LARGEST: usize = 64 * 1024;

/// How deep brackets may lie in brackets: the parser recurses.
const DEEPEST: usize = 64;

/// How many of the other tokens there may be at which it recurses.
const MOST: usize = 500;

/// The template of a package, which parses.
#[derive(Clone, Debug)]
pub struct BindTemplate {
    pub text: String,
}

/// What is wrong, and the offset in the text.
struct Wrong {
    at: usize,
    found: String,
    remedy: &'static str,
}

pub(crate) fn read(file: &File, findings: &mut Findings) -> Option<BindTemplate> {
    let section = file.map(findings)?;
    section.only(&["template", "credentials"], findings);
    let Some(node) = section.get("template") else {
        let found = "`template` is missing";
        findings.error(
            section.at(),
            Some("template"),
            found,
            "give a Jsonnet expression, or remove the file",
        );
        return None;
    };
    if !matches!(node.value, odb_adapter_sdk::document::Node::Text(_)) {
        let found = format!("`template` is {}; it must be text", node.value.kind());
        findings.error(
            file.at(node),
            Some("template"),
            found,
            "write `template: |` and indent the expression",
        );
        return None;
    }
    let text = section.text("template", findings)?;
    match parse(&text.value) {
        Ok(()) => Some(BindTemplate { text: text.value }),
        Err(wrong) => {
            let (line, column) = position(&text.value, wrong.at);
            let found = format!(
                "line {line}, column {column} of the template: {}",
                wrong.found
            );
            let at = in_file(file, &text, line, column);
            findings.error(at, Some("template"), found, wrong.remedy);
            None
        }
    }
}

fn parse(text: &str) -> Result<(), Wrong> {
    let wrong = |at, found: String, remedy| Wrong { at, found, remedy };
    if text.len() > LARGEST {
        let found = format!("the template has more than {} KiB", LARGEST / 1024);
        return Err(wrong(0, found, "make it smaller"));
    }
    if let Some(at) = long_operator(text) {
        return Err(wrong(
            at,
            "the operator is too long".to_owned(),
            "make it shorter",
        ));
    }
    let (arena, syntax, names) = (Arena::new(), Arena::new(), StrInterner::new());
    let mut spans = SpanManager::new();
    let (context, _) = spans.insert_source_context(text.len());
    let lexer = Lexer::new(
        &arena,
        &syntax,
        &names,
        &mut spans,
        context,
        text.as_bytes(),
    );
    let tokens = lexer.lex_to_eof(false).map_err(|error| {
        let (span, found) = lexical(&error);
        wrong(spans.get_span(span).1, found, "correct it from here")
    })?;
    let (mut depth, mut recursions) = (0_usize, 0_usize);
    for token in &tokens {
        let at = spans.get_span(token.span).1;
        match token.kind {
            TokenKind::Simple(S::Import | S::Importstr | S::Importbin) => {
                let remedy = "write what you need into the template";
                return Err(wrong(at, "imports are not available".to_owned(), remedy));
            }
            TokenKind::Simple(S::LeftBrace | S::LeftBracket | S::LeftParen) => depth += 1,
            TokenKind::Simple(S::RightBrace | S::RightBracket | S::RightParen) => {
                depth = depth.saturating_sub(1);
            }
            // Not recursive.
            TokenKind::Simple(
                S::Comma
                | S::Colon
                | S::ColonColon
                | S::ColonColonColon
                | S::Dot
                | S::Semicolon
                | S::Null
                | S::True
                | S::False
                | S::Self_
                | S::Dollar
                | S::Eq,
            ) => {}
            TokenKind::Simple(_) | TokenKind::OtherOp(_) => recursions += 1,
            _ => {}
        }
        if depth > DEEPEST || recursions > MOST {
            let found = "the template is too complex".to_owned();
            return Err(wrong(at, found, "make it smaller"));
        }
    }
    let parser = Parser::new(&arena, &syntax, &names, &mut spans, tokens);
    let parsed = parser.parse_root_expr().map(|_| ());
    parsed.map_err(|error| {
        let ParseError::Expected { span, instead, .. } = error;
        let found = if instead == ActualToken::EndOfFile {
            "the template ends too early".to_owned()
        } else {
            let (_, start, end) = spans.get_span(span);
            let token = text.get(start..end).unwrap_or_default();
            format!("`{token}` is not expected here")
        };
        wrong(
            spans.get_span(span).1,
            found,
            "the template must be one Jsonnet expression",
        )
    })
}

/// A run of operators that costs the lexer seconds: its time grows with the square.
fn long_operator(text: &str) -> Option<usize> {
    const LONGEST: usize = 200;
    let mut start = 0;
    for (at, letter) in text.char_indices() {
        if !"!$:~+-&|^=<>*/%".contains(letter) {
            start = at + letter.len_utf8();
        } else if at - start > LONGEST {
            return Some(start);
        }
    }
    None
}

fn lexical(error: &LexError) -> (SpanId, String) {
    let text = |what: &str| what.to_owned();
    match *error {
        LexError::InvalidChar { span, chr } => (span, format!("`{chr}` is no part of Jsonnet")),
        LexError::InvalidUtf8 { span, .. } => (span, text("this is not UTF-8")),
        LexError::UnfinishedMultilineComment { span } => (span, text("the comment has no end")),
        LexError::LeadingZeroInNumber { span }
        | LexError::MissingFracDigits { span }
        | LexError::MissingExpDigits { span }
        | LexError::MissingDigitAfterUnderscore { span }
        | LexError::ExpOverflow { span } => (span, text("this is not a number")),
        LexError::InvalidEscapeInString { span, .. }
        | LexError::IncompleteUnicodeEscape { span }
        | LexError::InvalidUtf16EscapeSequence { span, .. } => {
            (span, text("the escape sequence is not valid"))
        }
        LexError::UnfinishedString { span } => (span, text("the string has no end")),
        LexError::MissingLineBreakAfterTextBlockStart { span }
        | LexError::MissingWhitespaceTextBlockStart { span }
        | LexError::InvalidTextBlockTermination { span } => {
            (span, text("the text block is not valid"))
        }
    }
}

/// Line and column, from one.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (
        before.matches('\n').count() + 1,
        before[start..].chars().count() + 1,
    )
}

/// The place in the file, where the template is a literal block (`|`); else the place of the whole.
fn in_file(file: &File, text: &Found<String>, line: usize, column: usize) -> Location {
    let exact = || {
        let own = text.value.lines().nth(line - 1)?;
        let source: String = file.document.source().iter().collect();
        let first = usize::try_from(text.at.line?).ok()?;
        // The block begins in the line after `|`, or where its value is said to begin.
        let candidates = [first + line - 1, first + line];
        let number = candidates.into_iter().find(|number| {
            let found = source.lines().nth(number - 1);
            found.is_some_and(|found| {
                found.trim_start().trim_end() == own.trim() && found.ends_with(own)
            })
        })?;
        let indent = source.lines().nth(number - 1)?.chars().count() - own.chars().count();
        Some(Location {
            line: Some(number as u64),
            column: Some((indent + column) as u64),
            ..text.at.clone()
        })
    };
    exact().unwrap_or_else(|| text.at.clone())
}

#[cfg(test)]
mod tests {
    use super::parse;

    /// A parser that recurses too deep ends the process.
    #[test]
    fn no_template_overflows_the_stack() {
        for (open, middle, close) in [
            ("[", "1", "]"),
            ("-", "1", ""),
            ("!", "true", ""),
            ("local a=1;", "1", ""),
            ("if a then ", "1", ""),
            ("if a then 1 else ", "1", ""),
            ("function(x)", "1", ""),
            ("1+", "1", ""),
            ("1<1||", "1", ""),
            ("error ", "1", ""),
            ("assert true;", "1", ""),
            ("a.", "b", ""),
            ("a", "b", " {}"),
            ("a {} ", "", ""),
            ("a[1]", "", ""),
            ("a()", "", ""),
        ] {
            let times = 60_000 / (open.len() + close.len());
            let text = open.repeat(times) + middle + &close.repeat(times);
            // Accepted or not.
            let _ = parse(&text);
        }
    }

    #[test]
    fn published_forms_of_templates_parse() {
        for text in [
            "{ host: $.services[0].name } // done",
            "local s = std.filter(function(s) std.endsWith(s.name, \"-m\"), $.services)[0];\n{ h: s.name, p: self.h + 1 }",
            "{ [if true then \"a\"]: $.secrets[0].data[\"redis-password\"] }",
        ] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }
}
