// A list of many rows of the same height, of which only those in sight are in the page.

import { useEffect, useRef, useState, type ReactNode } from "react";

interface VirtualListProps<Row> {
  label: string;
  rows: readonly Row[];
  rowHeight: number;
  /** In pixels; a shorter list is as high as its rows. */
  maxHeight: number;
  keyOf: (row: Row) => string | number;
  children: (row: Row) => ReactNode;
  /** The row to bring into sight when it changes. */
  shown?: number | undefined;
}

const BEYOND = 4;

export function VirtualList<Row>({ label, rows, rowHeight, maxHeight, keyOf, children, shown }: VirtualListProps<Row>): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const height = Math.min(maxHeight, rows.length * rowHeight);
  useEffect(() => {
    const element = frame.current;
    if (!element || shown === undefined || shown < 0) return;
    const start = shown * rowHeight;
    if (start < element.scrollTop || start + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = start - (element.clientHeight - rowHeight) / 2;
    }
  }, [shown, rowHeight]);
  const first = Math.max(0, Math.floor(top / rowHeight) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + BEYOND);
  return (
    <div className="virtual-list scrolls" role="list" aria-label={label} ref={frame} style={{ height }} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div style={{ height: rows.length * rowHeight }}>
        {rows.slice(first, last).map((row, order) => (
          <div key={keyOf(row)} role="listitem" aria-setsize={rows.length} aria-posinset={first + order + 1} style={{ top: (first + order) * rowHeight, height: rowHeight }}>
            {children(row)}
          </div>
        ))}
      </div>
    </div>
  );
}
