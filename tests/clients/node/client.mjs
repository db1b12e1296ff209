// One scenario of an official client: node client.mjs <openai|responses|anthropic> <text|stream|loop|structured>
// Prints one line of JSON: {"ok": value} or {"error": the error's class, "message": …}.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const [client, scenario] = process.argv.slice(2);
const parameters = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };
const city = {
  type: "object",
  properties: { city: { type: "string" }, country: { type: "string" } },
  required: ["city", "country"],
  additionalProperties: false,
};
const add = (args) => String(args.a + args.b);

const chat = {
  ask: (more = {}) => new OpenAI().chat.completions.create({ model: "m", messages: [{ role: "user", content: "q" }], ...more }),
  async text() {
    return (await this.ask()).choices[0].message.content;
  },
  async stream() {
    let text = "";
    for await (const chunk of await this.ask({ stream: true })) text += chunk.choices[0]?.delta?.content ?? "";
    return text;
  },
  async loop() {
    const tools = [{ type: "function", function: { name: "add", parameters } }];
    const messages = [{ role: "user", content: "q" }];
    for (;;) {
      const { message } = (await this.ask({ messages, tools })).choices[0];
      if (!message.tool_calls) return message.content;
      messages.push(message);
      for (const call of message.tool_calls)
        messages.push({ role: "tool", tool_call_id: call.id, content: add(JSON.parse(call.function.arguments)) });
    }
  },
  async structured() {
    const response_format = { type: "json_schema", json_schema: { name: "City", schema: city, strict: true } };
    return JSON.parse((await this.ask({ response_format })).choices[0].message.content);
  },
};

const responses = {
  ask: (more = {}) => new OpenAI().responses.create({ model: "m", input: "q", ...more }),
  async text() {
    return (await this.ask()).output_text;
  },
  async stream() {
    let text = "";
    for await (const event of await this.ask({ stream: true })) if (event.type === "response.output_text.delta") text += event.delta;
    return text;
  },
  async loop() {
    const tools = [{ type: "function", name: "add", parameters, strict: false }];
    let answer = await this.ask({ tools });
    for (;;) {
      const calls = answer.output.filter((item) => item.type === "function_call");
      if (!calls.length) return answer.output_text;
      const input = calls.map((call) => ({
        type: "function_call_output",
        call_id: call.call_id,
        output: add(JSON.parse(call.arguments)),
      }));
      answer = await this.ask({ tools, input, previous_response_id: answer.id });
    }
  },
  async structured() {
    const text = { format: { type: "json_schema", name: "City", schema: city, strict: true } };
    return JSON.parse((await this.ask({ text })).output_text);
  },
};

const anthropic = {
  ask: (more = {}) =>
    new Anthropic().messages.create({ model: "m", max_tokens: 99, messages: [{ role: "user", content: "q" }], ...more }),
  said: (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join(""),
  async text() {
    return this.said(await this.ask());
  },
  async stream() {
    let text = "";
    for await (const event of await this.ask({ stream: true }))
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    return text;
  },
  async loop() {
    const tools = [{ name: "add", input_schema: parameters }];
    const messages = [{ role: "user", content: "q" }];
    for (;;) {
      const message = await this.ask({ messages, tools });
      const calls = message.content.filter((block) => block.type === "tool_use");
      if (!calls.length) return this.said(message);
      messages.push({ role: "assistant", content: message.content });
      const content = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: add(call.input) }));
      messages.push({ role: "user", content });
    }
  },
  async structured() {
    const output_config = { format: { type: "json_schema", schema: city } };
    return JSON.parse(this.said(await this.ask({ output_config })));
  },
};

try {
  const ok = await { chat, responses, anthropic }[client][scenario]();
  console.log(JSON.stringify({ ok }));
} catch (error) {
  console.log(JSON.stringify({ error: error.constructor.name, message: String(error.message) }));
}
