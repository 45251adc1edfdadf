//! What the fake model answers, in each dialect: one call of a tool or a text, as one object or as a stream of events.

use serde_json::{Value, json};

use super::asked::{Dialect, Tool};

/// One turn of the model.
#[derive(Debug)]
pub enum Turn {
    /// It calls a tool.
    Call(Tool, Value),
    /// It says something and ends.
    Say(&'static str),
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// As one object.
    Whole,
    /// As server-sent events.
    Stream,
}

/// The body of an answer.
pub fn answer(dialect: Dialect, sent: Sent, model: &Value, turn: &Turn, id: u32) -> String {
    match dialect {
        Dialect::Chat => chat(sent, model, turn, id),
        Dialect::Responses => responses(sent, model, turn, id),
        Dialect::Messages => messages(sent, model, turn, id),
        Dialect::Gemini => gemini(sent, turn),
    }
}

/// Events of a stream, named where the dialect names them (by their `type`).
fn stream(events: &[Value]) -> String {
    let one = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(one).collect()
}

fn chat(sent: Sent, model: &Value, turn: &Turn, id: u32) -> String {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let (message, reason) = match turn {
        Turn::Call(tool, arguments) => {
            let function = json!({"name": tool.name, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": format!("call_{id}"), "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
        Turn::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
    };
    let object = |kind: &str, choices: Value| json!({"id": format!("chatcmpl-{id}"), "object": kind, "created": 0, "model": model, "choices": choices});
    if sent == Sent::Whole {
        let choice = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        let mut whole = object("chat.completion", choice);
        whole["usage"] = usage;
        return whole.to_string();
    }
    let part = |delta: Value, reason: Option<&str>| {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        object("chat.completion.chunk", choice)
    };
    let mut last = object("chat.completion.chunk", json!([]));
    last["usage"] = usage;
    stream(&[part(message, None), part(json!({}), Some(reason)), last]) + "data: [DONE]\n\n"
}

fn responses(sent: Sent, model: &Value, turn: &Turn, id: u32) -> String {
    let call = |kind: &str, tool: &Tool| json!({"type": kind, "id": format!("fc_{id}"), "call_id": format!("call_{id}"), "name": tool.name, "status": "completed"});
    let item = match turn {
        Turn::Call(tool, arguments) if tool.takes_text => {
            let mut item = call("custom_tool_call", tool);
            item["input"] = arguments["command"].clone();
            item
        }
        Turn::Call(tool, arguments) => {
            let mut item = call("function_call", tool);
            item["arguments"] = json!(arguments.to_string());
            item
        }
        Turn::Say(text) => {
            json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]})
        }
    };
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15});
    let done = json!({"id": format!("resp_{id}"), "object": "response", "created_at": 0, "status": "completed", "model": model,
        "output": [item], "usage": usage, "parallel_tool_calls": false, "tools": [], "tool_choice": "auto", "error": null});
    if sent == Sent::Whole {
        return done.to_string();
    }
    let mut begun = done.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![json!({"type": "response.created", "response": begun})];
    events.extend(item_events(&item));
    events.push(json!({"type": "response.completed", "response": done}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    stream(&events)
}

/// How an item comes in a stream of responses: begun, its text or its arguments, done.
fn item_events(item: &Value) -> Vec<Value> {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    let about = |kind: &str| json!({"type": kind, "item_id": item["id"], "output_index": 0});
    let mut between = Vec::new();
    if let Some(arguments) = item.get("arguments") {
        begun["arguments"] = json!("");
        let (mut delta, mut done) = (
            about("response.function_call_arguments.delta"),
            about("response.function_call_arguments.done"),
        );
        delta["delta"] = arguments.clone();
        done["arguments"] = arguments.clone();
        between.extend([delta, done]);
    }
    if let Some(content) = item.get("content") {
        begun["content"] = json!([]);
        let text = &content[0]["text"];
        let parts = [
            (
                "response.content_part.added",
                "part",
                json!({"type": "output_text", "text": "", "annotations": []}),
            ),
            ("response.output_text.delta", "delta", text.clone()),
            ("response.output_text.done", "text", text.clone()),
            ("response.content_part.done", "part", content[0].clone()),
        ];
        for (kind, key, value) in parts {
            let mut event = about(kind);
            event["content_index"] = json!(0);
            event[key] = value;
            between.push(event);
        }
    }
    let mut events =
        vec![json!({"type": "response.output_item.added", "output_index": 0, "item": begun})];
    events.append(&mut between);
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    events
}

fn messages(sent: Sent, model: &Value, turn: &Turn, id: u32) -> String {
    let (block, empty, delta, reason) = match turn {
        Turn::Call(tool, arguments) => {
            let block = |input: &Value| json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": tool.name, "input": input});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
            (block(arguments), block(&json!({})), delta, "tool_use")
        }
        Turn::Say(text) => {
            let block = |text: &str| json!({"type": "text", "text": text});
            let delta = json!({"type": "text_delta", "text": text});
            (block(text), block(""), delta, "end_turn")
        }
    };
    let mut message = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": [block],
        "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}});
    if sent == Sent::Whole {
        return message.to_string();
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    stream(&[
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

fn gemini(sent: Sent, turn: &Turn) -> String {
    let part = match turn {
        Turn::Call(tool, arguments) => {
            json!({"functionCall": {"name": tool.name, "args": arguments}})
        }
        Turn::Say(text) => json!({"text": text}),
    };
    let whole = json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "guard",
    });
    match sent {
        Sent::Whole => whole.to_string(),
        Sent::Stream => stream(&[whole]),
    }
}
