// A collapsible part of the panel. The browser stores whether it is open.

import { useState, type ReactNode } from "react";
import { loadFlag, saveFlag } from "./localStorage";
import { Icon } from "./Icon";

interface SectionProps {
  title: string;
  children: ReactNode;
  /** Shown at the right end of the title. */
  aside?: ReactNode;
  isOpenAtFirst?: boolean;
}

export function Section({ title, children, aside, isOpenAtFirst = true }: SectionProps): ReactNode {
  const key = `section-${title}`;
  const [isOpen, setOpen] = useState(() => loadFlag(key, isOpenAtFirst));
  const toggle = (): void => {
    saveFlag(key, !isOpen);
    setOpen(!isOpen);
  };
  return (
    <section className="section">
      <header>
        <button type="button" className="section-title" aria-expanded={isOpen} onClick={toggle}>
          <span className={isOpen ? "turner is-open" : "turner"}>
            <Icon name="chevron" />
          </span>
          <h2>{title}</h2>
        </button>
        {isOpen ? aside : null}
      </header>
      {isOpen ? <div className="section-body">{children}</div> : null}
    </section>
  );
}
