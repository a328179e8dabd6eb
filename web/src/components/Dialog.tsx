// A window over the page. Here: the browser's own dialog, which holds the focus and closes on Escape.

import { useEffect, useRef, useSyncExternalStore, type ReactNode } from "react";
import { IconButton } from "./Button";

let openDialog: HTMLDialogElement | null = null;
const listeners = new Set<() => void>();

function setOpenDialog(dialog: HTMLDialogElement | null): void {
  openDialog = dialog;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The open dialog: what has to stay visible and clickable while it is open is rendered inside it. */
export const useOpenDialog = (): HTMLDialogElement | null => useSyncExternalStore(subscribe, () => openDialog);

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  width?: "narrow" | "wide";
}

export function DialogWindow({ title, onClose, children, width = "narrow" }: DialogProps): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
    dialog?.querySelector<HTMLElement>("[data-autofocus]")?.focus();
    setOpenDialog(dialog);
    return () => {
      dialog?.close();
      setOpenDialog(null);
    };
  }, []);
  return (
    <dialog
      ref={element}
      className={`dialog is-${width}`}
      aria-label={title}
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
      onPointerDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      {/* The focus begins on the window itself: Escape closes it, Tab goes to its first control. */}
      <div className="dialog-body" tabIndex={-1} data-autofocus>
        <header>
          <h2>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
