import { keepPreviousData, useInfiniteQuery, type QueryKey } from '@tanstack/react-query';
import { useCallback, type ReactNode } from 'react';
import { Failed, Waiting } from './parts.tsx';
import type { Column } from './table-frame.tsx';
import { DataTable } from './table.tsx';

interface Page<T> {
  rows: readonly T[];
  nextCursor: string | null;
}

interface CursorTableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rowId: (row: T) => string;
  queryKey: QueryKey;
  /** Reads the page of a cursor; `null`: the first page. */
  read: (cursor: string | null) => Promise<Page<T>>;
  /** Shown if there are no rows. */
  empty: ReactNode;
  /** How often the pages are read again. */
  refetchMs?: number | false;
}

/** A list that the API gives in pages, each with the cursor of the next one. Further pages are read near the last rows. */
export function CursorTable<T>({ queryKey, read, empty, refetchMs = false, ...table }: CursorTableProps<T>) {
  const pages = useInfiniteQuery({
    queryKey,
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) => read(pageParam),
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: refetchMs,
    placeholderData: keepPreviousData,
  });
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  if (pages.isError) return <Failed error={pages.error} retry={() => void pages.refetch()} />;
  if (pages.isPending) return <Waiting />;
  const rows = pages.data.pages.flatMap((page) => page.rows);
  return rows.length === 0 ? empty : <DataTable tall {...table} rows={rows} onEnd={onEnd} />;
}
