import type { ReactNode } from 'react';

/** A share of a whole, as a bar behind its row. */
export const Bar = ({ share, children }: { share: number; children: ReactNode }) => (
  <li className="relative flex justify-between gap-3 overflow-hidden rounded px-2 py-1">
    <span
      className="absolute inset-y-0 left-0 rounded bg-accent-soft"
      style={{ width: `${share * 100}%` }}
      aria-hidden
    />
    {children}
  </li>
);
