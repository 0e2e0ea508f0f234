import { useState } from "react";
import type { Message } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";

type Content = Message["content"];
export type Card = { state: string; guard: string; reason: string; late: boolean; content: Content | null };
type CallEvent = Card & { type: "asyncguard.call"; tool_call_id: string };
type OtherEvent = { type: "asyncguard.task" | "asyncguard.text" | "asyncguard.run" };
type Mark = { kind?: string; state?: string; guard?: string; states?: string[]; guards?: string[]; tool_call_ids?: string[] };
/** What the pages read of an event of the ledger. */
type Recorded = { kind: string; key?: string; call?: { key: string; call_id: string }; outcome?: string } & Partial<Card>;
type Held = { key: string; tool: string; arguments: Record<string, unknown>; reason: string };
export type Question = { type: "approval"; calls: Held[] } | { type: "parked" };
type State = { messages: Message[]; tasks?: string[]; ledger?: Recorded[] };

const HIDDEN = ["results", "pair", "nudge", "withheld", "cancelled", "unreadable"];
const OPEN = ["queued", "pending", "deferred", "held"];
/** States of calls after events of the ledger; `call_retired` has the state itself. */
const MOVES: Record<string, string> = { call_deferred: "deferred", call_held: "held", call_admitted: "queued", call_started: "pending" };
/** One result in a message of late results: opening delimiter, text, closing delimiter. */
const PART = /<(result-\S+) [^]*?status="\w+">\n?([^]*?)\n?<\/\1>/g;
/** How much is known of a call: it is open, in doubt, or has an end. */
const known = (card: Card) => (OPEN.includes(card.state) ? 0 : card.state === "in_doubt" ? 1 : 2);

/** What the runtime noted on a message of its own; an empty mark for all others. */
export function markOf(message: Message): Mark {
  const noted = message.additional_kwargs ?? {};
  return noted.lc_source === "asyncguard" ? ((noted.lc_data ?? {}) as Mark) : {};
}

/** The question of the guard; `null` for a tool's own, which may be any JSON. */
export function guardsQuestion(value: unknown): Question | null {
  const { type, calls } = (value ?? {}) as { type?: unknown; calls?: unknown };
  return type === "parked" || (type === "approval" && Array.isArray(calls)) ? (value as Question) : null;
}

/** Messages that people read: no results in the form for models, no reminders, no tool messages. */
export function isShown(message: Message): boolean {
  return message.type !== "tool" && !HIDDEN.includes(markOf(message).kind ?? "");
}

export function textOf(content: Content | null): string {
  if (typeof content === "string" || content === null) return content ?? "";
  // A tool may answer with plain texts among the blocks.
  return content.map((block) => (typeof block === "string" ? block : "text" in block ? block.text : "")).join("");
}

/** Cards as the ledger holds them: it has the ends that no message tells yet. */
function recordedCards(ledger: Recorded[]): Record<string, Card> {
  const cards: Record<string, Card> = {};
  const ids: Record<string, string> = {};
  for (const event of ledger) {
    if (event.call && event.kind === "call_proposed") ids[event.call.key] = event.call.call_id;
    const id = ids[event.key ?? ""];
    const state = event.kind === "call_retired" ? event.outcome : MOVES[event.kind];
    const { guard = "", reason = "", content = null } = event;
    if (id && state) cards[id] = { state, guard, reason, late: false, content };
  }
  return cards;
}

/** Cards as the state holds them: what is known after a reload. */
function storedCards({ messages, ledger = [] }: State): Record<string, Card> {
  const cards: Record<string, Card> = {};
  const own: Record<string, { id: string; state?: string; guard?: string }> = {}; // calls of the runtime, with NewsStyle.PAIR
  for (const message of messages) {
    const mark = markOf(message);
    if (mark.kind === "pair" && message.type === "ai") {
      message.tool_calls?.forEach((call, n) => {
        own[call.id ?? ""] = { id: mark.tool_call_ids?.[n] ?? "", state: mark.states?.[n], guard: mark.guards?.[n] };
      });
    } else if (message.type === "tool") {
      const noted = mark.kind === "placeholder" || mark.kind === "not_executed";
      const ended = mark.kind === "in_doubt" ? "in_doubt" : message.status === "error" ? "failed" : "done";
      const answers = own[message.tool_call_id];
      const state = answers?.state ?? ((noted && mark.state) || ended);
      const reason = mark.kind === "not_executed" ? textOf(message.content) : ""; // a placeholder is for the model
      const content = noted ? null : message.content;
      const late = Boolean(answers) || mark.kind === "placeholder";
      cards[answers?.id ?? message.tool_call_id] = { state, guard: answers?.guard ?? mark.guard ?? "", reason, late, content };
    } else if (mark.kind === "results") {
      const parts = [...textOf(message.content).matchAll(PART)];
      const whole = parts.length === mark.tool_call_ids?.length; // else other middleware has changed it
      mark.tool_call_ids?.forEach((id, n) => {
        const state = mark.states?.[n] ?? "done";
        const guard = mark.guards?.[n] ?? "";
        cards[id] = { state, guard, reason: "", late: true, content: (whole && parts[n]?.[2]) || "" };
      });
    }
  }
  for (const [id, card] of Object.entries(recordedCards(ledger))) {
    const stored = cards[id];
    const ahead = !stored || known(card) > known(stored) || (known(card) === 0 && card.state === stored.state);
    if (ahead) cards[id] = { ...card, late: stored?.late ?? false };
  }
  return cards;
}

/** Stream of a guarded agent, with the cards of its calls by the ids of the calls; `onCreated` is told of each run. */
export function useGuardedAgent(apiUrl: string, assistantId: string, onCreated: () => void) {
  const [threadId, setThreadId] = useState<string | null>(location.hash.slice(1) || null);
  const [live, setLive] = useState<Record<string, Card>>({});
  const stream = useStream<State, { InterruptType: unknown; CustomEventType: CallEvent | OtherEvent }>({
    apiUrl,
    assistantId,
    threadId,
    reconnectOnMount: true,
    fetchStateHistory: false,
    onCreated,
    onThreadId: (id) => {
      setThreadId(id);
      location.hash = id;
    },
    onFinish: () => undefined, // with it, the client reads the state after a run: no answered question stays
    onCustomEvent: (event) => {
      if (event.type === "asyncguard.call") setLive((cards) => ({ ...cards, [event.tool_call_id]: event }));
    },
  });
  const cards = storedCards({ ...stream.values, messages: stream.messages });
  for (const [id, card] of Object.entries(live)) {
    const stored = cards[id];
    // The stream is ahead of the state, unless it broke off before the call ended or its doubt did.
    if (!stored || known(card) >= known(stored)) cards[id] = card;
  }
  return { stream, cards };
}
