// The store of the state, and reading it from components. Not here: what changes it (reducer.ts).

import { createContext, useContext, useSyncExternalStore } from "react";
import { reduce, type Action } from "./reducer";
import { BEGINNING, type PageState } from "./state";

export interface Store {
  get: () => PageState;
  dispatch: (action: Action) => void;
  subscribe: (listener: () => void) => () => void;
}

export function createStore(beginning: PageState = BEGINNING): Store {
  let state = beginning;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    dispatch(action) {
      const next = reduce(state, action);
      if (next === state) return;
      state = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export const StoreContext = createContext<Store | null>(null);

/** A part of the state; the component renders again when this part changes. */
export function useSelect<Part>(select: (state: PageState) => Part): Part {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}

function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("Components live inside StoreContext.");
  return store;
}
