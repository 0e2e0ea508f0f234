import { type FormEvent, useState } from "react";
import { type Card, isShown, markOf, type Question, textOf, useGuardedAgent } from "./guarded";

function CallCard({ id, tool, card }: { id: string; tool: string; card?: Card }) {
  const word = card?.state === "rejected" ? `held back by ${card.guard}` : (card?.state ?? "new");
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

function Asked({ question, resume }: { question: Question; resume: (answer: unknown) => void }) {
  const [decided, setDecided] = useState({} as Answers);
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
  const { stream, cards } = useGuardedAgent(apiUrl, assistantId);
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const words = String(new FormData(event.currentTarget).get("words"));
    event.currentTarget.reset();
    const lines = words.split("\n").filter((line) => line.trim());
    // Several lines are several tasks.
    void stream.submit(lines.length > 1 ? { messages: [], tasks: lines } : { messages: [{ type: "human", content: words }] });
  };
  const question = stream.interrupt?.value;
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
      {question && !stream.isLoading && (
        <Asked
          key={stream.interrupt?.id}
          question={question}
          resume={(answer) => void stream.submit(undefined, { command: { resume: answer } })}
        />
      )}
      <p role="status">{stream.error ? `Failed: ${String(stream.error)}` : stream.isLoading ? "Running" : "Ready"}</p>
      <form onSubmit={send}>
        <textarea name="words" required aria-label="Message" />
        <button disabled={stream.isLoading}>Send</button>
      </form>
    </main>
  );
}
