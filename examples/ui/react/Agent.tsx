import { type FormEvent, useRef, useState } from "react";
import { type Card, guardsQuestion, isShown, markOf, textOf, useGuardedAgent } from "./guarded";

function CallCard({ id, tool, card }: { id: string; tool: string; card?: Card }) {
  const word = card?.state === "rejected" && card.guard ? `held back by ${card.guard}` : (card?.state ?? "new");
  return (
    <article className="card" data-call={id} data-state={card?.state}>
      <h3>{tool}</h3>
      <p className="state">{word + (card?.late && card.content !== null ? ", late" : "")}</p>
      {card?.reason && <p>{card.reason}</p>}
      {card && card.content !== null && <pre>{textOf(card.content)}</pre>}
    </article>
  );
}

type Answer = boolean | { approve: false; reason: string };
type Answers = { [key: string]: Answer };

function ToolAsks({ value, resume }: { value: unknown; resume: (answer: unknown) => void }) {
  const answer = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    resume(String(new FormData(event.currentTarget).get("answer")));
  };
  return (
    <form onSubmit={answer}>
      <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
      <input name="answer" required aria-label="Your answer" />
      <button>Answer</button>
    </form>
  );
}

function Asked({ value, resume }: { value: unknown; resume: (answer: unknown) => void }) {
  const [decided, setDecided] = useState({} as Answers);
  const question = guardsQuestion(value);
  if (!question) return <ToolAsks value={value} resume={resume} />;
  if (question.type === "parked") return <button onClick={() => resume("look again")}>Look again</button>;
  const decide = (key: string, answer: Answer) => {
    const all = { ...decided, [key]: answer };
    setDecided(all);
    if (question.calls.every((call) => call.key in all)) resume(all);
  };
  return question.calls.map((call) => (
    <fieldset key={call.key}>
      <legend>{`${call.tool} ${JSON.stringify(call.arguments)}`}</legend>
      <p>{call.reason}</p>
      <button onClick={() => decide(call.key, true)}>Approve</button>
      <button onClick={() => decide(call.key, { approve: false, reason: "refused by the user" })}>Refuse</button>
    </fieldset>
  ));
}

export function Agent({ apiUrl, assistantId }: { apiUrl: string; assistantId: string }) {
  const form = useRef<HTMLFormElement>(null);
  const sent = useRef(false);
  const { stream, cards } = useGuardedAgent(apiUrl, assistantId, () => sent.current && form.current?.reset());
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const words = String(new FormData(event.currentTarget).get("words"));
    sent.current = true; // the words stay until the server has them
    const lines = words.split("\n").filter((line) => line.trim());
    // Several lines are several tasks.
    void stream.submit(lines.length > 1 ? { messages: [], tasks: lines } : { messages: [{ type: "human", content: words }] });
  };
  return (
    <main>
      {stream.messages.filter(isShown).map((message, n) => (
        <section key={message.id ?? n} className={message.type}>
          {textOf(message.content) && <p>{textOf(message.content)}</p>}
          {markOf(message).kind === "interim" && <p className="note">Said while calls are open.</p>}
          {message.type === "ai" &&
            message.tool_calls?.map((call) => (
              <CallCard key={call.id} id={call.id ?? ""} tool={call.name} card={cards[call.id ?? ""]} />
            ))}
        </section>
      ))}
      {!stream.isLoading &&
        stream.interrupts.map(({ id, value }) => {
          // Several interrupts at once are answered by their ids.
          const resume = (answer: unknown) => {
            sent.current = false;
            void stream.submit(undefined, { command: { resume: { [id ?? ""]: answer } } });
          };
          return id && <Asked key={id} value={value} resume={resume} />;
        })}
      <p role="status">{stream.error ? `Failed: ${String(stream.error)}` : stream.isLoading ? "Running" : "Ready"}</p>
      <form ref={form} onSubmit={send}>
        <textarea name="words" required aria-label="Message" />
        <button disabled={stream.isLoading}>Send</button>
      </form>
    </main>
  );
}
