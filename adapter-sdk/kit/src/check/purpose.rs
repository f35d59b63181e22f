use std::fmt;

/// The purpose of a call, for one plan or, if each has the same finding, for several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Purpose {
    before: String,
    /// Their names; none where the text names no plan.
    plans: Vec<String>,
    after: String,
}

impl Purpose {
    /// Reads a purpose such as ``upgrade of plan `small` ``.
    pub(super) fn of(text: &str) -> Self {
        let named = text
            .split_once("plan `")
            .and_then(|(before, rest)| Some((before, rest.split_once('`')?)));
        match named {
            Some((before, (plan, after))) => Self {
                before: before.to_owned(),
                plans: vec![plan.to_owned()],
                after: after.to_owned(),
            },
            None => Self {
                before: text.to_owned(),
                plans: Vec::new(),
                after: String::new(),
            },
        }
    }

    /// Whether the other one differs at most in its plan.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self.before == other.before && self.after == other.after
    }

    /// Takes the plans of the other one in.
    pub(super) fn join(&mut self, other: Self) {
        for plan in other.plans {
            if !self.plans.contains(&plan) {
                self.plans.push(plan);
            }
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.before)?;
        let plans: Vec<String> = self.plans.iter().map(|plan| format!("`{plan}`")).collect();
        match plans.as_slice() {
            [] => {}
            [plan] => write!(f, "plan {plan}")?,
            plans => write!(f, "plans {}", plans.join(", "))?,
        }
        f.write_str(&self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::Purpose;

    #[test]
    fn purposes_that_differ_in_the_plan_become_one() {
        let mut one = Purpose::of("order of plan `small`, in arguments");
        let other = Purpose::of("order of plan `large`, in arguments");
        assert!(one.is_alike(&other));
        one.join(other.clone());
        one.join(other);
        assert_eq!(
            one.to_string(),
            "order of plans `small`, `large`, in arguments"
        );
    }

    #[test]
    fn purposes_that_differ_in_more_do_not() {
        let order = Purpose::of("order of plan `small`");
        assert!(!order.is_alike(&Purpose::of("upgrade of plan `small`")));
        assert!(!order.is_alike(&Purpose::of("order with parameters `small`")));
        assert_eq!(order.to_string(), "order of plan `small`");
    }
}
