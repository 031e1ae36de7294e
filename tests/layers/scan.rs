//! Finds the paths in a Rust source without a compiler: text to [`words`], words to [`paths`].
//!
//! Only as much of the grammar is known as paths need: what is no code (comments, literals, lifetimes), what a `use` spreads into, and which inline
//! modules are open, because `super` counts from them.

pub(crate) struct Named {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    /// The inline modules around it.
    pub(crate) inside: Vec<String>,
}

/// Every path of two or more names, and every path that a `use` brings in.
pub(crate) fn paths(words: &[Word]) -> Vec<Named> {
    let (mut found, mut at, mut depth) = (Vec::new(), 0, 0);
    // (name, the depth outside it) of each inline module that is open.
    let mut inside: Vec<(String, usize)> = Vec::new();
    while at < words.len() {
        let (word, next) = (&words[at], words.get(at + 1).map_or("", |w| w.text.as_str()));
        let record = |found: &mut Vec<Named>, tree: Vec<(Vec<String>, usize)>| {
            let inside: Vec<_> = inside.iter().map(|(name, _)| name.clone()).collect();
            found.extend(tree.into_iter().map(|(path, line)| Named { path, line, inside: inside.clone() }));
        };
        match word.text.as_str() {
            "mod" if words.get(at + 2).is_some_and(|w| w.text == "{") => {
                inside.push((next.to_owned(), depth));
                at += 1;
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inside.pop_if(|(_, outside)| *outside == depth);
            }
            // `use<'a>` in a return type is no import.
            "use" if next != "<" => {
                let mut tree = Vec::new();
                at = use_tree(words, at + 1, &[], &mut tree);
                record(&mut found, tree);
                continue;
            }
            name if is_name(name) && next == "::" => {
                let (mut path, line) = (vec![name.to_owned()], word.line);
                while words.get(at + 1).is_some_and(|w| w.text == "::") && words.get(at + 2).is_some_and(|w| is_name(&w.text)) {
                    path.push(words[at + 2].text.clone());
                    at += 2;
                }
                record(&mut found, vec![(path, line)]);
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Spreads the use tree that begins at `at` into its paths and returns where it ends. A glob ends in `*`; `a::{self}` is `a`.
fn use_tree(words: &[Word], mut at: usize, prefix: &[String], tree: &mut Vec<(Vec<String>, usize)>) -> usize {
    let mut path = prefix.to_vec();
    while let Some(word) = words.get(at) {
        match word.text.as_str() {
            "{" => {
                at += 1;
                while words.get(at).is_some_and(|w| w.text != "}") {
                    let end = use_tree(words, at, &path, tree);
                    // A comma, or something that only a macro's pattern holds here; either way the scan goes on.
                    at = end + usize::from(end == at || words.get(end).is_some_and(|w| w.text == ","));
                }
                return at + 1;
            }
            "::" | "$" => {}
            // `as` and its new name end a path; `self` at the end of one adds nothing.
            "as" => at += 1,
            "self" if !prefix.is_empty() => {}
            name if is_name(name) || name == "*" => path.push(name.to_owned()),
            _ => break,
        }
        at += 1;
    }
    if !path.is_empty() {
        tree.push((path, words.get(at.saturating_sub(1)).map_or(0, |w| w.line)));
    }
    at
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Cuts Rust into names, `::` and single characters; comments, strings, characters and lifetimes are dropped.
pub(crate) fn words(source: &str) -> Vec<Word> {
    let chars: Vec<char> = source.chars().collect();
    let (mut words, mut at, mut line) = (Vec::new(), 0, 1);
    let peek = |at: usize| chars.get(at).copied().unwrap_or('\0');
    while at < chars.len() {
        let begin = at;
        let mut text = String::new();
        match (chars[at], peek(at + 1)) {
            ('/', '/') => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            ('/', '*') => {
                let mut open = 0;
                loop {
                    match (peek(at), peek(at + 1)) {
                        ('/', '*') => (open, at) = (open + 1, at + 2),
                        ('*', '/') => (open, at) = (open - 1, at + 2),
                        _ => at += 1,
                    }
                    if open == 0 || at >= chars.len() {
                        break;
                    }
                }
            }
            ('"', _) => at = after_string(&chars, at),
            // 'a' and '\n' are characters, 'a alone is a lifetime.
            ('\'', '\\') => at += 3 + chars[(at + 3).min(chars.len())..].iter().take_while(|c| **c != '\'').count() + 1,
            ('\'', _) if peek(at + 2) == '\'' => at += 3,
            ('\'', _) => at += 1 + chars[at + 1..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count(),
            (c, _) if c.is_alphanumeric() || c == '_' => {
                at += chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
                text = chars[begin..at].iter().collect();
                let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
                match text.as_str() {
                    "r" | "br" | "cr" if peek(at + hashes) == '"' => {
                        let close: String = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                        let rest: String = chars[at + hashes + 1..].iter().collect();
                        let body = rest.find(&close).map_or(rest.len(), |end| end + close.len());
                        at += hashes + 1 + rest[..body].chars().count();
                        text.clear();
                    }
                    // r#type is the name `type`; b'x' and b"x" lose their prefix and are dropped in the next round.
                    "r" if hashes == 1 => (text, at) = (String::new(), at + 1),
                    "b" | "c" if matches!(peek(at), '"' | '\'') => text.clear(),
                    _ => {}
                }
            }
            (':', ':') => (text, at) = ("::".to_owned(), at + 2),
            (c, _) => {
                at += 1;
                if !c.is_whitespace() {
                    text.push(c);
                }
            }
        }
        at = at.min(chars.len());
        if !text.is_empty() {
            words.push(Word { text, line });
        }
        line += chars[begin..at].iter().filter(|c| **c == '\n').count();
    }
    words
}

fn after_string(chars: &[char], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}
