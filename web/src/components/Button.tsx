// Buttons. Here: with text, and with an icon alone. Not here: what they do.

import type { ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

interface ButtonProps {
  children: ReactNode;
  onClick: () => void;
  icon?: IconName;
  look?: "main" | "plain" | "normal";
  isDisabled?: boolean;
  isWide?: boolean;
  isOn?: boolean;
  isSubmit?: boolean;
  title?: string;
}

export function Button({ children, onClick, icon, look = "normal", isDisabled = false, isWide = false, isOn, isSubmit = false, title }: ButtonProps): ReactNode {
  const names = ["button", look === "normal" ? "" : `is-${look}`, isWide ? "is-wide" : "", isOn ? "is-on" : ""];
  return (
    <button type={isSubmit ? "submit" : "button"} className={names.filter(Boolean).join(" ")} disabled={isDisabled} onClick={onClick} title={title ?? (typeof children === "string" ? children : undefined)} aria-pressed={isOn}>
      {icon ? <Icon name={icon} /> : null}
      {children}
    </button>
  );
}

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  /** The key that does the same, for the tooltip. */
  shortcut?: string;
  isOn?: boolean;
  isDisabled?: boolean;
  isPlain?: boolean;
}

export function IconButton({ icon, label, onClick, shortcut, isOn, isDisabled = false, isPlain = true }: IconButtonProps): ReactNode {
  const names = ["button", "is-icon", isPlain ? "is-plain" : "", isOn ? "is-on" : ""];
  return (
    <button
      type="button"
      className={names.filter(Boolean).join(" ")}
      aria-label={label}
      aria-pressed={isOn}
      aria-keyshortcuts={shortcut}
      title={shortcut ? `${label}  (${shortcut})` : label}
      disabled={isDisabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
