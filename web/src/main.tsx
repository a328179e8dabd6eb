import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { access } from "./connection/access";
import { Session, SessionContext } from "./session/session";
import { App } from "./shell/App";
import { ErrorBoundary } from "./shell/ErrorBoundary";
import { createStore, StoreContext } from "./state/store";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/dialog.css";
import "./styles/layout.css";
import "./styles/loadingScreen.css";
import "./styles/movie.css";
import "./styles/panels.css";
import "./styles/plot.css";
import "./styles/shell.css";
import "./styles/startPage.css";
import "./styles/slices.css";
import "./styles/workbench.css";
import "./styles/denoising.css";

// Another link to this viewer was put into the address of this page.
addEventListener("hashchange", () => {
  if (location.hash) location.reload();
});

const store = createStore();
const session = new Session(store, access());
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <StoreContext value={store}>
        <SessionContext value={session}>
          <ErrorBoundary program="viewer">
            <App />
          </ErrorBoundary>
        </SessionContext>
      </StoreContext>
    </StrictMode>,
  );
  void session.start();
}
