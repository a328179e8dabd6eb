// What every part of the agent's page needs. Here: the context and how to use it. Not here: who fills it (AgentApp.tsx).

import { createContext, useContext } from "react";
import type { AgentApi } from "./api";
import type { About } from "./protocol";

export interface Agent {
  api: AgentApi;
  about: About;
  /** Do something; an error is shown at the top of the page. */
  attempt: (act: () => Promise<unknown> | unknown) => Promise<void>;
  /** Ask for the jobs now instead of waiting for the next poll. */
  refreshJobs: () => Promise<void>;
}

export const AgentContext = createContext<Agent | null>(null);

export function useAgent(): Agent {
  const agent = useContext(AgentContext);
  if (!agent) throw new Error("Components live inside AgentContext.");
  return agent;
}

/** An error as one text: what is wrong and what to do. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { remedy } = error as Partial<{ remedy: string }>;
  return remedy ? `${error.message} ${remedy}` : error.message;
}
