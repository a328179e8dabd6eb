// A collapsible part of the panel. The browser stores whether it is open.

import { useEffect, useRef, useState, type ReactNode } from "react";
import { loadFlag, saveFlag } from "./localStorage";
import { Icon } from "./Icon";

interface SectionProps {
  title: string;
  children: ReactNode;
  /** Shown at the right end of the title. */
  aside?: ReactNode;
  isOpenAtFirst?: boolean;
  /** A tool that the section belongs to is in use: when that begins, the section opens and comes into view. */
  isInUse?: boolean;
}

export function Section({ title, children, aside, isOpenAtFirst = true, isInUse = false }: SectionProps): ReactNode {
  const key = `section-${title}`;
  const [isOpen, setOpen] = useState(() => loadFlag(key, isOpenAtFirst));
  const [wasInUse, setWasInUse] = useState(isInUse);
  const element = useRef<HTMLElement>(null);
  if (wasInUse !== isInUse) {
    setWasInUse(isInUse);
    if (isInUse) setOpen(true);
  }
  useEffect(() => {
    if (isInUse) element.current?.scrollIntoView?.({ block: "nearest" });
  }, [isInUse]);
  const toggle = (): void => {
    saveFlag(key, !isOpen);
    setOpen(!isOpen);
  };
  return (
    <section className="section" ref={element}>
      <header>
        <button type="button" className="section-title" aria-expanded={isOpen} title={isOpen ? `Close ${title}` : `Open ${title}`} onClick={toggle}>
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
