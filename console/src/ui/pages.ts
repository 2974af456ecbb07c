/** The loaded part of a list that is read page by page. */
export interface Known<C> {
  /** The start of each known page. */
  starts: readonly C[];
  /** Number of rows on the last of these; 0 until it was read. */
  tail: number;
  /** Whether no page follows. */
  ended: boolean;
}

/** Number of known rows. */
export const sizeOf = ({ starts, tail }: Known<unknown>, size: number): number => (starts.length - 1) * size + tail;

/** The known pages of a range of rows; at least one. */
export function pagesIn(known: Known<unknown>, range: { first: number; last: number; size: number }): number[] {
  const end = known.starts.length - 1;
  const from = Math.min(end, Math.floor(range.first / range.size));
  const to = Math.min(end, Math.floor(range.last / range.size));
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/**
 * The list after a page was read; the same object if nothing changed. Rows added to or removed from a page move the start of
 * the next one, so that no row is skipped; a page that is no longer full is the last.
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
