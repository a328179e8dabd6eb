// The sign of the program: a cube.

import type { ReactNode } from "react";

export function Mark({ isBusy }: { isBusy: boolean }): ReactNode {
  return (
    <svg className={isBusy ? "mark is-busy" : "mark"} viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16 3 27 9v14l-11 6-11-6V9z" />
      <path d="M5 9l11 6 11-6M16 15v14" />
    </svg>
  );
}
