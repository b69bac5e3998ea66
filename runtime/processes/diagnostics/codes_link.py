"""Codes for what processes name outside themselves, and for versions of them."""

from .diagnostics import DiagnosticRule

LINK: tuple[DiagnosticRule, ...] = (
    DiagnosticRule(
        "P401",
        "unknown action",
        "No component has announced this action.",
        "correct the name, or start the worker or load the plugin that serves the action",
    ),
    DiagnosticRule(
        "P402",
        "unknown gate",
        "No component has announced this gate.",
        "correct the name, or start the worker or load the plugin that serves the gate",
    ),
    DiagnosticRule(
        "P403",
        "unknown topic",
        "There is no knowledge under this topic.",
        "correct the topic, or add the knowledge",
    ),
    DiagnosticRule(
        "P404",
        "ambiguous topic",
        "Two or more pieces of knowledge fit the topic equally well.",
        "put the scope in front: personal, team, org, domain or project",
    ),
    DiagnosticRule(
        "P405",
        "unknown parameter",
        "The action, gate or child process does not take this parameter.",
        "correct the name or remove it",
    ),
    DiagnosticRule(
        "P406",
        "missing parameter",
        "The action, gate or child process needs this parameter.",
        "add it under `with:`",
    ),
    DiagnosticRule(
        "P407",
        "parameter does not fit",
        "The value, or the value of the reference, does not have a type that the parameter takes.",
        "hand over a value of the right type",
    ),
    DiagnosticRule(
        "P408",
        "unknown child process",
        "`process:` names neither a process nor an interface among the sources.",
        "correct the name or add the process",
    ),
    DiagnosticRule(
        "P409",
        "processes run each other in a circle",
        "A process cannot run itself, neither through its child processes nor through a process "
        "that implements an interface which it runs.",
        "take one `process:` out of the circle",
    ),
    DiagnosticRule(
        "P410",
        "child process is abstract",
        "An abstract process cannot be executed.",
        "name a process that extends it",
    ),
    DiagnosticRule(
        "P411",
        "nothing implements the interface",
        "The step runs any process that implements the interface, and there is none yet.",
        "add a process with `implements:`",
        "warning",
    ),
    DiagnosticRule(
        "P412",
        "text with a reference where a list can stand",
        "The parameter takes a list of words, or a text that Cortex splits into words. Cortex "
        "fills in the reference before it splits the text, so the value could add words.",
        'write a list, in which a value stays one word: `[git, tag, "${inputs.tag}"]`',
    ),
    DiagnosticRule(
        "P413",
        "output is no schema",
        "`output: {schema: ...}` contains the JSON Schema (draft 2020-12) of an object. The "
        "compiler looks up nothing outside it.",
        "correct the schema, or declare fields: `output: {answer: string}`",
    ),
    DiagnosticRule(
        "P414",
        "unknown Struct",
        "`output: package.module:Struct` names a msgspec Struct of an installed package.",
        "correct the name, install the package, or write `output: {schema: ...}`",
    ),
    DiagnosticRule(
        "P415",
        "nothing under the topic",
        "`find:` searches only the topics of `under:` and the topics below them when the step "
        "runs, and there is nothing in them yet.",
        "correct the topic, or add the knowledge",
        "warning",
    ),
    DiagnosticRule(
        "P416",
        "output that is never given",
        "The step declares an `output:` that it can never have: the announced result has no such "
        "field, or the field has another type.",
        "declare what it gives, or run what gives it",
    ),
    DiagnosticRule(
        "P417",
        "unknown tool",
        "A declared tool is a promise to the model of the step. No component has announced this "
        "tool or pack, no server lists it, and it is not a skill of the home.",
        "correct the name, load the plugin or configure the server that offers it, or write "
        "`{name: ..., optional: true}` where the step can do without",
    ),
    DiagnosticRule(
        "P418",
        "parameter could be bound in several ways",
        "The step leaves out a required parameter. Several inputs and results of earlier steps "
        "have its name and type.",
        "say which under `with:`",
    ),
    DiagnosticRule(
        "P419",
        "optional parameter could be bound in several ways",
        "The step leaves out an optional parameter. Several inputs and results of earlier steps "
        "have its name and type, so the compiler binds none of them.",
        "say which under `with:`",
        "warning",
    ),
    DiagnosticRule(
        "P420",
        "name that could be chosen for several things",
        "A model chooses tools, actions and processes by name alone, so each name must mean one "
        "thing in a step.",
        "remove one of them",
    ),
    DiagnosticRule(
        "P421",
        "name that a goal keeps for itself",
        "A model calls `goal_reached` or `give_up` to say how far its goal is. Nothing else that "
        "it may choose can have one of these names.",
        "give the action, process or tool another name, or leave it to a person with `by_hand: "
        "true`",
    ),
)

VERSIONS: tuple[DiagnosticRule, ...] = (
    DiagnosticRule(
        "P501",
        "same version, another source",
        "Every change is a new version, so that an execution can name what it ran. This version "
        "was compiled before from another source.",
        "count the version up",
    ),
    DiagnosticRule(
        "P502",
        "defined twice",
        "Two documents define the same version of a process or interface.",
        "remove one, rename it or count its version up",
    ),
)
