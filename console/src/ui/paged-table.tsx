import { useQueries, type QueryKey } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useState, type ReactNode } from 'react';
import { sent } from '../api/client.ts';
import { pagesIn, sizeOf, withPage, type Known } from './pages.ts';
import { Failed, Waiting } from './parts.tsx';
import { OVERSCAN, ROW, TableFrame, type Column, type Order } from './table-frame.tsx';

const PAGE = 100;
/** Pages out of view are dropped, so that only a few are in memory. */
const KEPT_MS = 1_000;

interface PagedTableProps<T, C> {
  label: string;
  columns: readonly Column<T>[];
  rowId: (row: T) => string;
  /** Prefix of the pages' query keys; each page adds its start. */
  queryKey: QueryKey;
  /** Reads a page from a start, at most `limit` rows; a shorter page is the last. */
  read: (start: C, limit: number) => Promise<T[]>;
  /** The first page's start, and the start of the page after a full one. */
  first: C;
  next: (start: C, last: T, size: number) => C;
  /** The column and order of the API's sorting, and a function that reverses it. */
  sorted?: { column: string; order: Order; onSort: () => void };
  /** Shown if there are no rows. */
  empty: ReactNode;
  /** Stands above the table while it has rows. */
  above?: ReactNode;
  tall?: boolean;
  /** Called with the number of known rows, and whether they are all; `null` while loading. */
  onCounted?: (known: { count: number; isAll: boolean } | null) => void;
}

/** Scroll positions of lists by browser history entry, for going back. */
const places = new Map<string, { known: Known<unknown>; top: number }>();
/** Nobody goes back further. */
const MOST_PLACES = 50;

function keepPlace(place: string, where: { known: Known<unknown>; top: number }): void {
  places.set(place, where);
  if (places.size > MOST_PLACES) places.delete(places.keys().next().value!);
}

/** The list's own history entry: while the reader goes to another screen, that screen's entry is not it. */
function useEntry(): { index: number; key: string } {
  const location = useRouterState({ select: (state) => state.location });
  const [own, setOwn] = useState(location);
  if (own !== location && own.pathname === location.pathname) setOwn(location);
  return { index: own.state.__TSR_index, key: own.state.__TSR_key ?? '' };
}

/**
 * A list of any length, read page by page while visible. Remembers where each page begins, so that the reader can scroll
 * anywhere and return.
 */
export function PagedTable<T, C extends string | number | null>(props: PagedTableProps<T, C>) {
  const { index, key } = useEntry();
  // A reader who turns back before the next screen has loaded finds this one still open, but it is a new visit.
  return <Pages key={index} {...props} entry={key} />;
}

function Pages<T, C extends string | number | null>(props: PagedTableProps<T, C> & { entry: string }) {
  const { label, columns, rowId, queryKey, read, first, next, sorted, empty, above, tall = false, onCounted } = props;
  const place = JSON.stringify([props.entry, sent.tenantId, queryKey]);
  const [known, setKnown] = useState<Known<C>>(
    () => (places.get(place)?.known as Known<C> | undefined) ?? { starts: [first], tail: 0, ended: false },
  );
  const [top] = useState(() => places.get(place)?.top ?? 0);
  const [range, setRange] = useState({ first: Math.floor(top / ROW), last: Math.floor(top / ROW) });
  const wanted = pagesIn(known, { ...range, last: range.last + OVERSCAN, size: PAGE });
  const pages = useQueries({
    queries: wanted.map((no) => ({
      queryKey: [...queryKey, known.starts[no]],
      queryFn: () => read(known.starts[no]!, PAGE),
      gcTime: KEPT_MS,
    })),
  });
  const rows = new Map(wanted.map((no, index) => [no, pages[index]?.data]));

  // The next page's start is a separate state, which survives dropping this page.
  let after = known;
  for (const [no, page] of rows) if (page !== undefined) after = withPage(after, { no, page, size: PAGE, next });
  if (after !== known) setKnown(after);
  useEffect(() => {
    keepPlace(place, { known, top: places.get(place)?.top ?? top });
  }, [place, known, top]);
  const count = sizeOf(known, PAGE);
  const failed = pages.find(({ isError }) => isError);
  const loading = pages.some(({ isFetching }) => isFetching);
  useEffect(() => {
    onCounted?.(loading ? null : { count, isAll: known.ended });
  }, [onCounted, loading, count, known.ended]);
  const onRange = useCallback((from: number, to: number) => setRange({ first: from, last: to }), []);
  const rowAt = (index: number): T | undefined => rows.get(Math.floor(index / PAGE))?.[index % PAGE];

  return (
    <>
      {failed && <Failed error={failed.error!} retry={() => void failed.refetch()} />}
      {count > 0 && above}
      {count > 0 ? (
        <TableFrame
          label={label}
          columns={columns}
          count={count}
          rowAt={rowAt}
          keyAt={(index) => {
            const row = rowAt(index);
            return row === undefined ? String(index) : rowId(row);
          }}
          orderOf={(id) => (id === sorted?.column ? sorted.order : undefined)}
          onSort={() => sorted?.onSort()}
          tall={tall}
          onRange={onRange}
          top={{ initial: top, keep: (now) => keepPlace(place, { known, top: now }) }}
        />
      ) : known.ended ? (
        empty
      ) : (
        !failed && <Waiting />
      )}
    </>
  );
}
