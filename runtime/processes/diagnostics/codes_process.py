"""Codes for what processes mean: each as a whole, and with what it inherits."""

from .diagnostics import DiagnosticRule

PROCESS: tuple[DiagnosticRule, ...] = (
    DiagnosticRule(
        "P201",
        "duplicate step id",
        "Steps are overridden, referred to and resumed by their ids, so each id must be unique "
        "in a process.",
        "rename one of them",
    ),
    DiagnosticRule(
        "P202",
        "expression does not parse",
        "Conditions are comparisons of inputs, results of earlier steps and literals, "
        "joined by `and`, `or`, `not`. References in values are written `${inputs.x}`.",
        "correct the expression",
    ),
    DiagnosticRule(
        "P203",
        "types do not fit in an expression",
        "The two sides of the comparison can never have the same type, or the whole expression "
        "is not true or false.",
        "compare values of the same type",
    ),
    DiagnosticRule(
        "P204",
        "unknown reference",
        "References are `inputs.<name>`, `steps.<id>.<field>`, `steps.<id>.status`, "
        "`execution.attempt` and `execution.id`.",
        "refer to something that is there",
    ),
    DiagnosticRule(
        "P205",
        "reference to a later step",
        "A step sees only the results of earlier steps.",
        "refer to an earlier step, or move this one",
    ),
    DiagnosticRule(
        "P206",
        "jump that does not go forward",
        "`on_failure: {step: ...}` continues at a later step; a jump back would be a loop. Use "
        "`retry:` to try again.",
        "name a later step",
    ),
    DiagnosticRule(
        "P207",
        "default does not fit",
        "The default, or a value of the enum, does not have the declared type or is not one of "
        "the allowed values.",
        "correct the default or the type",
    ),
    DiagnosticRule(
        "P208",
        "given twice",
        "The list contains the same item twice; the second has no effect.",
        "remove it",
        "warning",
    ),
    DiagnosticRule(
        "P209",
        "output without a source",
        "The value of an output comes from the last step with a result of that name, or from "
        "`value:`. Here there is neither.",
        "add `value: ${steps.<id>.<field>}`",
    ),
    DiagnosticRule(
        "P210",
        "value may be missing",
        "The step may be skipped, or may fail under `on_failure: continue`, or the input is "
        "optional. The value is then null, which is not accepted here.",
        "guard the step with `when: <reference> != null`, or give the input a default",
        "warning",
    ),
    DiagnosticRule(
        "P211",
        "abstract step in a concrete process",
        "Only a process with `abstract: true` may have a step that does not say what it does.",
        "give the step an action, or mark the process `abstract: true`",
    ),
    DiagnosticRule(
        "P212",
        "no steps",
        "A process that can run has at least one step, its own or an inherited one.",
        "add a step, or mark the process `abstract: true`",
    ),
    DiagnosticRule(
        "P213",
        "step does nothing",
        "A step runs an `action:` or a `process:`, works towards a `goal:`, or has steps under "
        "`parallel:`. An override replaces the whole step, its action included.",
        "add `action:`, `process:`, `goal:` or `parallel:`",
    ),
    DiagnosticRule(
        "P214",
        "going back does not go back",
        "`on_failure: {back_to: ...}` goes back to an earlier step. Use `retry:` to try the step "
        "itself again, and `step:` to continue at a later one.",
        "name an earlier step",
    ),
    DiagnosticRule(
        "P215",
        "search without a model",
        "What `find:` and `memory:` bring goes into the prompt of their step. A step that asks no "
        "model has no prompt.",
        "move it to a step that asks a model, or remove the key",
        "warning",
    ),
    DiagnosticRule(
        "P216",
        "key of a goal without one",
        "`may:`, `check:` and `by_hand:` say how a step works towards its `goal:`.",
        "add `goal:`, or remove the key",
    ),
    DiagnosticRule(
        "P217",
        "goal without anything to do",
        "A model or person that works towards the goal chooses among the actions under `may:`. A "
        "model may also use the `tools:` of the step.",
        "list what may be done under `may:`",
    ),
    DiagnosticRule(
        "P218",
        "key that does nothing here",
        "`as`, `at_once` and `failures` belong to a step with `for_each:` or `parallel:`. A "
        "`parallel:` step does nothing itself: its branches say what is done, and how. A branch "
        "is one step; the `parallel:` around it says what happens when the branch fails.",
        "move the key to where it counts, or remove it",
    ),
    DiagnosticRule(
        "P219",
        "name of the item hides another",
        "`as:` names the item of a list, and the step refers to it by that name. `inputs`, "
        "`steps` and `execution` already mean something else.",
        "give the item another name",
    ),
    DiagnosticRule(
        "P220",
        "branch used as a step",
        "All branches of a `parallel:` begin together, and the step waits for all of them. So "
        "you cannot jump to a branch, go back to it or insert a step beside it; an override "
        "leaves it there.",
        "name the `parallel:` step",
    ),
    DiagnosticRule(
        "P221",
        "persona or instructions without a model",
        "`persona:` and `instructions:` of a step go into its prompt. A step that asks no model "
        "has no prompt.",
        "move them to a step that asks a model, or to the process",
        "warning",
    ),
)

INHERITANCE: tuple[DiagnosticRule, ...] = (
    DiagnosticRule(
        "P301",
        "unknown parent",
        "`extends:` names a process that is not among the sources.",
        "correct the name or add the parent",
    ),
    DiagnosticRule(
        "P302",
        "inheritance goes in a circle",
        "A process cannot extend itself, not even through its parents.",
        "take one `extends:` out of the circle",
    ),
    DiagnosticRule(
        "P303",
        "abstract step not overridden",
        "A concrete process must say what each abstract step of its parents does.",
        "add a step with this id, or mark the process `abstract: true`",
    ),
    DiagnosticRule(
        "P304",
        "unknown place of insertion",
        "`before:` and `after:` name an inherited step, or a step further up in the same list.",
        "name one of those",
    ),
    DiagnosticRule(
        "P305",
        "insertion not possible here",
        "`before:` and `after:` place a new step among inherited ones. An override stays "
        "where the step was; without a parent the order of the list counts.",
        "remove `before:`/`after:`",
    ),
    DiagnosticRule(
        "P306",
        "unknown interface",
        "`implements:` names an interface that is not among the sources.",
        "correct the name or add the interface",
    ),
    DiagnosticRule(
        "P307",
        "interface: gates missing",
        "The process says that it implements an interface, but it lacks gates that the interface "
        "requires. The gates of the process count, inherited ones included.",
        "add the gates",
    ),
    DiagnosticRule(
        "P308",
        "interface: steps missing",
        "The process says that it implements an interface, but it lacks steps that the interface "
        "requires.",
        "add the steps",
    ),
    DiagnosticRule(
        "P309",
        "interface: knowledge missing",
        "The process says that it implements an interface, but it lacks knowledge that the "
        "interface requires.",
        "add the topics",
    ),
    DiagnosticRule(
        "P310",
        "interface: inputs or outputs do not fit",
        "A step that runs the interface supplies its inputs and reads its outputs. So each of "
        "them must be there with the same type, and the process may not require more inputs.",
        "bring the inputs and outputs in line with the interface",
    ),
    DiagnosticRule(
        "P311",
        "interfaces go in a circle",
        "An interface cannot extend itself, not even through the interfaces that it extends.",
        "take one `extends:` out of the circle",
    ),
    DiagnosticRule(
        "P312",
        "inherited with another type",
        "Inherited steps rely on the type of an inherited input or output.",
        "keep the type, or use another name",
    ),
    DiagnosticRule(
        "P313",
        "one name for two things",
        "A process and an interface cannot have the same name: `process: name` could mean either.",
        "rename one of them",
    ),
    DiagnosticRule(
        "P314",
        "nothing to inherit",
        "`- inherit: all` means everything that the parent has. This process has no parent, or "
        "the step replaces none of the parent's steps.",
        "remove the line, or add `extends:`",
    ),
    DiagnosticRule(
        "P315",
        "depends on something that does not compile",
        "A parent, interface or child process of this one has errors, so the compiler cannot "
        "link it. It still reports the errors of this one.",
        "correct the errors there first",
    ),
    DiagnosticRule(
        "P316",
        "too many parents",
        "A chain of parents, or the interfaces that one extends, may have 64 members. Nobody "
        "could understand a longer one.",
        "take levels out of the chain",
    ),
)
