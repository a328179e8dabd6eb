// When the page itself fails: what it was, and a way on, instead of nothing at all.

import { Component, type ReactNode } from "react";

interface ErrorBoundaryProps {
  children: ReactNode;
}

/** React takes everything away where a component fails, unless somebody stands around it. */
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
          <p>The page has failed, and the viewer has not: everything is as it was.</p>
          <p className="hint">{problem}</p>
          <button type="button" className="button is-main" onClick={() => location.reload()}>
            Load the page again
          </button>
        </div>
      </div>
    );
  }
}
