/** What is known of a list that is read page by page. */
export interface Known<C> {
  /** Where each page that is known of begins. */
  starts: readonly C[];
  /** How many rows the last of these has; 0 until it was read. */
  tail: number;
  /** There is no page behind it. */
  ended: boolean;
}

/** How many rows are known of. */
export const sizeOf = ({ starts, tail }: Known<unknown>, size: number): number => (starts.length - 1) * size + tail;

/** The pages that rows are on, as far as they are known of; at least one. */
export function pagesIn(known: Known<unknown>, range: { first: number; last: number; size: number }): number[] {
  const end = known.starts.length - 1;
  const from = Math.min(end, Math.floor(range.first / range.size));
  const to = Math.min(end, Math.floor(range.last / range.size));
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/**
 * What is known once a page was read; the same where it says nothing new. Rows that came or went on a page move where the
 * next one begins, so that none is passed over; one that is not full any more is the last.
 */
export function withPage<T, C>(
  known: Known<C>,
  {
    no,
    page,
    size,
    next,
  }: { no: number; page: readonly T[]; size: number; next: (start: C, last: T, size: number) => C },
): Known<C> {
  const { starts, tail, ended } = known;
  const last = no === starts.length - 1;
  if (page.length < size)
    return last && ended && tail === page.length
      ? known
      : { starts: starts.slice(0, no + 1), tail: page.length, ended: true };
  const start = next(starts[no]!, page.at(-1)!, size);
  if (last) return { starts: [...starts, start], tail: 0, ended: false };
  return starts[no + 1] === start ? known : { ...known, starts: starts.with(no + 1, start) };
}
