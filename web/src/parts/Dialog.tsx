// A window over the page. Here: the browser's own dialog, which holds the focus and closes on Escape.

import { useEffect, useRef, type ReactNode } from "react";
import { IconButton } from "./Button";

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
    return () => dialog?.close();
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
