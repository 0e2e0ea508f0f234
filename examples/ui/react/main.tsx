import { createRoot } from "react-dom/client";
import { Agent } from "./Agent";

const asked = new URLSearchParams(location.search);
const apiUrl = asked.get("server") ?? "http://127.0.0.1:2024";
const root = createRoot(document.getElementById("root")!);
root.render(<Agent apiUrl={apiUrl} assistantId={asked.get("agent") ?? "guarded_agent"} />);
document.documentElement.dataset.ready = "yes";
