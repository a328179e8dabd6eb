import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { browserEnvironment } from "../connection/pageSession";
import { ErrorBoundary } from "../shell/ErrorBoundary";
import "../styles/base.css";
import "../styles/controls.css";
import "../styles/dialog.css";
import "../styles/loadingScreen.css";
import "../styles/plot.css";
import "../styles/agent.css";
import { AgentApi } from "./api";
import { AgentApp } from "./AgentApp";

// Another link to this agent was put into the address of this page.
addEventListener("hashchange", () => {
  if (location.hash) location.reload();
});

const api = new AgentApi(browserEnvironment());
const opened = api.open().then(api.about);
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <ErrorBoundary program="agent">
        <AgentApp api={api} opened={opened} />
      </ErrorBoundary>
    </StrictMode>,
  );
}
