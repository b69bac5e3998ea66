"""The names that OpenTelemetry's semantic conventions give to GenAI work; written nowhere else.

They are of github.com/open-telemetry/semantic-conventions-genai, in the version below. There a
workflow is a span `invoke_workflow` whose name is that of an agent, and tokens that are written to
a cache are `cache_write` (`cache_creation` in earlier ones).
"""

from typing import Final

VERSION: Final = "0.1.0"

# Values of OPERATION; a span's name is one of them and what it is about.
WORKFLOW: Final = "invoke_workflow"  # an execution
AGENT: Final = "invoke_agent"  # a step that asks models
TOOL: Final = "execute_tool"
CHAT: Final = "chat"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"
FUNCTION: Final = "function"  # a value of TOOL_TYPE
ERROR_TYPE: Final = "error.type"

INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"  # all of a prompt, cached or not
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"

# What the conventions have no name for.
COST: Final = "cortex.cost"  # US dollars
EXECUTION: Final = "cortex.execution.id"
PROCESS_VERSION: Final = "cortex.process.version"
STEP: Final = "cortex.step.id"
ACTION: Final = "cortex.action"
ATTEMPT: Final = "cortex.attempt"
TURN: Final = "cortex.turn"
CALL: Final = "cortex.call"  # how often the same prompt was sent, from 2
STATUS: Final = "cortex.status"
POSITION: Final = "cortex.position"  # of the first event of a span in the log
CONVENTIONS: Final = "cortex.genai_conventions.version"
