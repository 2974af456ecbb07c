import {
  createSortedRowModel,
  rowSortingFeature,
  sortFn_alphanumeric,
  tableFeatures,
  useTable,
  type ColumnDef,
} from '@tanstack/react-table';
import { useCallback, useMemo } from 'react';
import { OVERSCAN, TableFrame, type Column } from './table-frame.tsx';

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric },
});

interface DataTableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowId: (row: T) => string;
  /** The heading of a row's group, above its first row. Rows of a group are neighbours. */
  groupOf?: (row: T) => string;
  onEnd?: () => void;
  tall?: boolean;
  lines?: boolean;
}

/**
 * A table whose rows are all loaded, sorted by the reader. Use `PagedTable` for longer lists. `onEnd`: called near the
 * last rows.
 */
export function DataTable<T>({
  label,
  columns,
  rows,
  rowId,
  groupOf,
  onEnd,
  tall = false,
  lines = false,
}: DataTableProps<T>) {
  const definitions = useMemo(
    () =>
      columns.map((column): ColumnDef<typeof features, T & object> => ({
        id: column.id,
        header: column.header,
        accessorFn: (row) => column.value?.(row) ?? '',
        enableSorting: column.value !== undefined,
        sortFn: 'alphanumeric',
      })),
    [columns],
  );
  const table = useTable({ features, columns: definitions, data: rows as (T & object)[] });
  const sorted = table.getRowModel().rows;
  const shown = useMemo(
    () =>
      grouped(
        sorted.map(({ original }) => original as T),
        groupOf,
      ),
    [sorted, groupOf],
  );
  const { length } = shown;
  const onRange = useCallback(
    (_first: number, last: number) => {
      if (last >= length - OVERSCAN) onEnd?.();
    },
    [length, onEnd],
  );
  return (
    <TableFrame
      label={label}
      columns={columns}
      count={length}
      rowAt={(index) => shown[index]?.row}
      keyAt={(index) => shown[index]!.heading ?? rowId(shown[index]!.row!)}
      {...(groupOf !== undefined && { headingAt: (index) => shown[index]?.heading })}
      orderOf={(id) => {
        const column = table.getColumn(id);
        return column?.getCanSort() ? column.getIsSorted() || null : undefined;
      }}
      onSort={(id) => table.getColumn(id)?.toggleSorting()}
      tall={tall}
      lines={lines}
      onRange={onRange}
    />
  );
}

/** A row, or the heading of a group. */
type Shown<T> = { row: T; heading?: undefined } | { row?: undefined; heading: string };

function grouped<T>(rows: readonly T[], groupOf: ((row: T) => string) | undefined): Shown<T>[] {
  if (groupOf === undefined) return rows.map((row) => ({ row }));
  return rows.flatMap((row, index): Shown<T>[] => {
    const heading = groupOf(row);
    const isFirst = index === 0 || groupOf(rows[index - 1]!) !== heading;
    return isFirst ? [{ heading }, { row }] : [{ row }];
  });
}
