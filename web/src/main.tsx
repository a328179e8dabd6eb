import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Session, SessionContext } from "./session/session";
import { App } from "./shell/App";
import { Failure } from "./shell/Failure";
import { createStore, StoreContext } from "./state/store";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/layout.css";
import "./styles/panels.css";
import "./styles/shell.css";
import "./styles/workbench.css";

// The token has become a cookie: it need not stay where it can be read over a shoulder.
if (location.search) history.replaceState(null, "", location.pathname);

const store = createStore();
const session = new Session(store);
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <StoreContext value={store}>
        <SessionContext value={session}>
          <Failure>
            <App />
          </Failure>
        </SessionContext>
      </StoreContext>
    </StrictMode>,
  );
  void session.start();
}
