# SPDX-License-Identifier: Apache-2.0
"""A model provider on loopback that calls a list of commands: Anthropic Messages, OpenAI Responses and Chat, Gemini.

The agent sends the conversation with each request.  The number of its tool results tells which command is next; after the
last one the answer is a text, and the agent ends.  Results are kept for the test.
"""
import http.server
import json
import re
import threading

DONE = "All steps are done."


def events(*items):
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in items).encode()


def text_in(value):
    """All text of a value, as a model would read it."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(text_in(item) for item in value) if isinstance(value, list) else ""


def arguments_for(tool, command):
    """Corral's own tool has a closed schema."""
    return {"command": command, **({} if tool.startswith("mcp_") else {"description": "one step"})}


class Anthropic:
    tools = ("Bash", "bash")

    @staticmethod
    def names(body):
        return [tool.get("name") for tool in body.get("tools", [])]

    @staticmethod
    def results(body):
        found = []
        for message in body.get("messages", []):
            content = message["content"] if isinstance(message["content"], list) else []
            found += [text_in(block.get("content")) for block in content if block.get("type") == "tool_result"]
        return found

    @staticmethod
    def answer(tool, number, command):
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "stand-in", "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if command is None:
            begin, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
        else:
            begin = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}}
            arguments = arguments_for(tool, command)
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return "text/event-stream", events(
            ("message_start", {"type": "message_start", "message": message}),
            ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": begin}),
            ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
            ("content_block_stop", {"type": "content_block_stop", "index": 0}),
            ("message_delta", {"type": "message_delta", "usage": {"output_tokens": 1},
                               "delta": {"stop_reason": "tool_use" if command else "end_turn", "stop_sequence": None}}),
            ("message_stop", {"type": "message_stop"}))


class Responses:
    tools = ("exec_command", "shell_command", "shell", "local_shell")

    @staticmethod
    def names(body):
        return [tool.get("name") or tool.get("type") for tool in body.get("tools", [])]

    @staticmethod
    def results(body):
        items = body.get("input", [])
        return [text_in(item.get("output")) for item in items if item.get("type") == "function_call_output"]

    @staticmethod
    def answer(tool, number, command):
        if command is None:
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": DONE, "annotations": []}]}
        else:
            arguments = {"cmd": command} if tool == "exec_command" else \
                {"command": command if tool == "shell_command" else ["bash", "-c", command]}
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": tool,
                    "arguments": json.dumps(arguments), "status": "completed"}
        response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item],
                    "usage": {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1,
                              "output_tokens_details": None, "total_tokens": 2}}
        return "text/event-stream", events(
            ("response.created", {"type": "response.created", "response": {"id": response["id"]}}),
            ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
            ("response.completed", {"type": "response.completed", "response": response}))


class Chat:
    tools = ("bash", "Bash", "shell")

    @staticmethod
    def names(body):
        return [tool.get("function", {}).get("name") for tool in body.get("tools", [])]

    @staticmethod
    def results(body):
        return [text_in(message.get("content")) for message in body.get("messages", []) if message.get("role") == "tool"]

    @staticmethod
    def answer(tool, number, command):
        if command is None:
            delta = {"role": "assistant", "content": DONE}
        else:
            call = {"name": tool, "arguments": json.dumps(arguments_for(tool, command))}
            delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": call}]}
        chunk = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1, "model": "stand-in"}
        end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if command else "stop"}
        parts = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                 {**chunk, "choices": [end], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}]
        return "text/event-stream", "".join(f"data: {json.dumps(part)}\n\n" for part in parts).encode() + b"data: [DONE]\n\n"


class Gemini:
    tools = ("run_shell_command",)

    @staticmethod
    def names(body):
        return [one["name"] for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]

    @staticmethod
    def results(body):
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        return [text_in(part["functionResponse"].get("response")) for part in parts if "functionResponse" in part]

    @staticmethod
    def answer(tool, number, command):
        part = {"text": DONE} if command is None else {
            "functionCall": {"id": f"call_{number}", "name": tool, "args": arguments_for(tool, command)}}
        data = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        return "text/event-stream", f"data: {json.dumps(data)}\n\n".encode()


class Provider:
    """The server; `commands` are called one after the other."""

    def __init__(self, commands, tool=None):
        self.tool = tool  # a pattern for its name; None: the agent's own shell
        self.commands, self.results, self.paths, self.lock = list(commands), [], [], threading.Lock()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                provider.serve(self, body)

            def do_GET(self):
                provider.serve(self, b"")

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def protocol(self, path):
        if path.endswith("/messages"):
            return Anthropic
        if path.endswith("/responses"):
            return Responses
        if path.endswith("/chat/completions"):
            return Chat
        return Gemini if "enerateContent" in path else None

    def serve(self, handler, raw):
        path = handler.path.split("?")[0]
        with self.lock:
            self.paths.append(f"{handler.command} {path}")
        kind = self.protocol(path)
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {}
        if kind is None or not isinstance(body, dict) or handler.command != "POST":
            return self.reply(handler, 404 if handler.command != "HEAD" else 200, "application/json", b"{}")
        offered = kind.names(body)
        wanted = [name for name in offered if re.fullmatch(self.tool, name or "")] if self.tool else \
            [name for name in kind.tools if name in offered]
        tool = wanted[0] if wanted else None
        results = kind.results(body)
        with self.lock:
            if len(results) > len(self.results):
                self.results = results
        number = len(results)
        # A request without the shell tool is for a title or a summary.
        command = self.commands[number] if tool and number < len(self.commands) else None
        content, data = kind.answer(tool, number, command)
        if kind is Gemini and "stream" not in path:
            content, data = "application/json", data[len("data: "):]
        return self.reply(handler, 200, content, data)

    @staticmethod
    def reply(handler, status, content, data):
        handler.send_response(status)
        handler.send_header("Content-Type", content)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)
