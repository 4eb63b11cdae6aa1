use std::sync::Arc;

use super::*;
use crate::{PendingAction, PendingActionStore};

const NAMED: ModelCapabilities =
    ModelCapabilities { choice: ChoiceSupport::Named, forcing_excludes_thinking: false, thinking: false };

struct Steered {
    store: PendingActionStore,
    state: SteeringState,
    mode: SteeringMode,
}

impl Steered {
    fn new(mode: SteeringMode) -> Self {
        Self { store: PendingActionStore::new(), state: SteeringState::default(), mode }
    }

    fn push(&self, label: &str) -> Arc<Pending> {
        self.store.push(PendingAction::new(label, |_| async { Ok("".into()) }).source_tool_name("source")).unwrap()
    }

    fn turn(&mut self, capabilities: ModelCapabilities) -> Steering {
        self.state.next(&self.store.list(), self.mode, &capabilities, self.store.events())
    }

    fn choices(&mut self, turns: usize) -> Vec<ToolChoice> {
        (0..turns).map(|_| self.turn(NAMED).choice).collect()
    }
}

fn forced() -> ToolChoice {
    ToolChoice::Named("resolve")
}

#[test]
fn nothing_pending_steers_nothing() {
    let steering = Steered::new(SteeringMode::ForceFirst).turn(NAMED);
    assert_eq!(steering, Steering { choice: ToolChoice::Free, reminder: None });
}

#[test]
fn the_reminder_names_label_source_id_and_how_many_are_pending() {
    let mut steered = Steered::new(SteeringMode::ForceFirst);
    let first = steered.push("Rename 2 files");
    let text = format!(
        "Pending: Rename 2 files (source), id {}. Nothing has been changed yet. Read its preview, then call resolve \
         with action \"apply\" or \"discard\" and a reason.",
        first.id()
    );
    assert_eq!(steered.turn(NAMED).reminder, Some(text));
    steered.push("Erase");
    let reminder = steered.turn(NAMED).reminder.unwrap();
    assert!(reminder.starts_with("Pending: Erase (source), id "), "{reminder}");
    assert!(reminder.ends_with(" One more is pending below it; the last staged comes first."), "{reminder}");
    steered.push("Write");
    let reminder = steered.turn(NAMED).reminder.unwrap();
    assert!(reminder.ends_with(" 2 more are pending below it; the last staged comes first."), "{reminder}");
}

#[test]
fn forcing_stops_after_three_turns_in_vain_and_the_reminder_stays() {
    let mut steered = Steered::new(SteeringMode::ForceFirst);
    steered.push("a");
    assert_eq!(steered.choices(5), [forced(), forced(), forced(), ToolChoice::Free, ToolChoice::Free]);
    assert!(steered.turn(NAMED).reminder.is_some());
}

#[test]
fn a_new_push_forces_again_and_what_was_let_go_stays_so() {
    let mut steered = Steered::new(SteeringMode::ForceFirst);
    steered.push("a");
    steered.choices(4);
    steered.push("b");
    assert_eq!(steered.choices(1), [forced()]);
    drop(steered.store.pop());
    assert_eq!(steered.choices(2), [ToolChoice::Free, ToolChoice::Free]);
}

#[test]
fn only_turns_that_leave_the_forced_action_unresolved_count() {
    let mut steered = Steered::new(SteeringMode::ForceFirst);
    steered.push("a");
    steered.choices(2);
    steered.push("b");
    steered.choices(1);
    drop(steered.store.pop());
    // Two turns were in vain for a; the one for b counted for b.
    assert_eq!(steered.choices(2), [forced(), ToolChoice::Free]);
}

#[test]
fn a_reminder_may_come_first_or_stay_alone() {
    let mut steered = Steered::new(SteeringMode::RemindFirst);
    steered.push("a");
    assert_eq!(steered.choices(5), [ToolChoice::Free, forced(), forced(), forced(), ToolChoice::Free]);
    let mut steered = Steered::new(SteeringMode::RemindOnly);
    steered.push("a");
    assert_eq!(steered.choices(2), [ToolChoice::Free, ToolChoice::Free]);
}

#[test]
fn the_choice_takes_the_form_that_the_model_knows() {
    let choice = |capabilities| {
        let mut steered = Steered::new(SteeringMode::ForceFirst);
        steered.push("a");
        let steering = steered.turn(capabilities);
        assert!(steering.reminder.is_some());
        steering.choice
    };
    assert_eq!(choice(ModelCapabilities::new(ChoiceSupport::Named)), ToolChoice::Named("resolve"));
    assert_eq!(choice(ModelCapabilities::new(ChoiceSupport::AnyOf)), ToolChoice::AnyOf("resolve"));
    assert_eq!(choice(ModelCapabilities::new(ChoiceSupport::Any)), ToolChoice::OfferOnly("resolve"));
    assert_eq!(choice(ModelCapabilities::new(ChoiceSupport::None)), ToolChoice::Free);
    assert_eq!(choice(NAMED.thinking(true)), ToolChoice::Free);
    assert_eq!(choice(NAMED.thinking(false)), ToolChoice::Named("resolve"));
}
