"""A home in which a process asked two models, and a server that counts what they are asked."""

import json
from pathlib import Path
from typing import Any

from cortex.bus import Event, Recorded
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home

from ..servers import Answer, ScriptedOpenAI
from .command_lines import environment, run_many

PROCESS = """
process: report
version: 1
gates:
  - file_exists: { path: notes.txt }
steps:
  - id: read
    action: read_text
    with: { path: notes.txt }
  - id: first
    action: answer_question
    carry: [read]
    knowledge: [house]
    with: { question: Where is the key? }
  - id: second
    action: answer_question
    carry: [first]
    with: { question: Is that safe? }
  - id: note
    action: shell
    with: { run: [sh, -c, 'echo "$0" >> said.txt', "${steps.second.text}"] }
outputs:
  said: { type: string, value: "${steps.second.text}" }
"""
HOUSE = "The house has one door.\n"
MODELS = """
[models]
default = "one"
[[models.use]]
name = "one"
provider = "openai"
model = "gpt-one"
base_url = "URL"
key_env = "KEY_OF_THE_TEST"
window = 32000
price_input = 3.0
price_output = 15.0
[[models.use]]
name = "two"
provider = "openai"
model = "gpt-two"
base_url = "URL"
key_env = "KEY_OF_THE_TEST"
window = 32000
price_input = 30.0
price_output = 150.0
"""


class Desk:
    """A home in which `report` ran, and the server that counts what its models are asked."""

    def __init__(self, folder: Path, server: ScriptedOpenAI) -> None:
        self.folder, self.server = folder, server
        self.env = {**environment(folder), "KEY_OF_THE_TEST": "k"}
        self.home, self.said = Home(folder / ".cortex"), folder / "said.txt"
        (folder / "notes.txt").write_text("The key is under the mat.\n")
        self.done("init")
        self.topic = self.home.knowledge / "house.md"
        self.topic.write_text(HOUSE)
        (self.home.processes / "report.yaml").write_text(PROCESS)
        self.home.config_path.write_text(MODELS.replace("URL", server.base_url))
        self.done("run report --quiet -y")
        self.execution = str(json.loads(self.done("execution list --json"))[0]["id"])
        self.server.asked.clear()

    def reset(self, answer: Answer) -> None:
        """Everything but the log is as it was when the execution had completed."""
        self.server.asked.clear()
        self.server.script.default = answer
        self.said.write_text("Under the mat.\n")
        self.topic.write_text(HOUSE)

    def call(self, *line: str) -> tuple[int, str, str]:
        ((code, out, err),) = run_many(self.folder, self.env, [line])
        return code, out, err

    def done(self, line: str, expected: int = 0) -> str:
        code, out, err = self.call(*line.split())
        assert code == expected, out + err
        return out

    def what_if(self, line: str = "", expected: int = 0) -> dict[str, Any]:
        """The document of a what-if."""
        said = self.done(f"what-if {self.execution} --json --quiet {line}", expected)
        found: dict[str, Any] = json.loads(said)
        return found

    def stream(self, execution_id: str) -> list[Recorded]:
        with History.open(self.home) as history:
            return history.stream(f"execution/{execution_id}")

    def said_by(self, execution_id: str) -> list[Event | None]:
        """The events of an execution."""
        with History.open(self.home) as history:
            return [history.event(each) for each in history.stream(f"execution/{execution_id}")]

    def newest(self) -> str:
        with History.open(self.home) as history:
            return history.newest_execution_id()
