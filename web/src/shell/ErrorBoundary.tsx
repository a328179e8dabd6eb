// When the page itself fails: the error, and a button that reloads the page.

import { Component, type ReactNode } from "react";

interface ErrorBoundaryProps {
  /** The server of the page. */
  program: "viewer" | "agent";
  children: ReactNode;
}

/** React removes the whole page where a component fails outside such a boundary. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { problem: string | null }> {
  override state: { problem: string | null } = { problem: null };

  static getDerivedStateFromError(error: unknown): { problem: string } {
    return { problem: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === null) return this.props.children;
    return (
      <div className="loading-screen">
        <div className="loading-screen-text" role="alert">
          <p>This page crashed. The {this.props.program} is still running and nothing was lost.</p>
          <p className="hint">{problem}</p>
          <button type="button" className="button is-main" onClick={() => location.reload()}>
            Reload the page
          </button>
        </div>
      </div>
    );
  }
}
