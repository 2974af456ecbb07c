import {
  createSortedRowModel,
  rowSortingFeature,
  sortFn_alphanumeric,
  tableFeatures,
  useTable,
  type ColumnDef,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useEffect, useMemo, useRef, type ReactNode } from 'react';

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric },
});

export interface Column<T> {
  id: string;
  header: string;
  cell: (row: T) => ReactNode;
  /** What the column is sorted by; without it, it is not. */
  value?: (row: T) => string | number;
  /** Left out where there is little room. */
  spare?: boolean;
  align?: 'right';
  /** The header is only for who hears it. */
  unseen?: boolean;
}

const ROW = 36;
const OVERSCAN = 12;
const SPARE = 'max-md:hidden';

/**
 * A table of any length: only rows in view are in the document.
 * @param options.onEnd called when the last rows are near: more may be loaded
 */
export function DataTable<T>({
  label,
  columns,
  rows,
  rowId,
  onEnd,
  tall = false,
}: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowId: (row: T) => string;
  onEnd?: () => void;
  tall?: boolean;
}) {
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
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: OVERSCAN,
    getItemKey: (index) => rowId(sorted[index]!.original),
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (onEnd !== undefined && last >= sorted.length - OVERSCAN) onEnd();
  }, [last, sorted.length, onEnd]);
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const byId = new Map(columns.map((column) => [column.id, column]));

  return (
    <div
      ref={frame}
      role="region"
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
      tabIndex={0}
      className={`relative overflow-auto rounded-lg border border-line bg-surface ${tall ? 'max-h-[calc(100dvh-11rem)]' : 'max-h-[32rem]'}`}
    >
      <table className="w-full border-separate border-spacing-0 text-left" aria-rowcount={sorted.length}>
        <thead className="sticky top-0 z-10 bg-surface">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => {
                const column = byId.get(header.column.id)!;
                const order = header.column.getIsSorted();
                return (
                  <th
                    key={header.id}
                    scope="col"
                    aria-sort={order === false ? undefined : order === 'asc' ? 'ascending' : 'descending'}
                    className={`h-9 border-b border-line px-3 text-xs font-medium whitespace-nowrap text-muted ${column.spare ? SPARE : ''} ${column.align === 'right' ? 'text-right' : ''}`}
                  >
                    {header.column.getCanSort() ? (
                      <button
                        type="button"
                        className="inline-flex items-center gap-1 hover:text-text"
                        onClick={header.column.getToggleSortingHandler()}
                      >
                        {column.header}
                        {order === 'asc' && <ArrowUp size={12} aria-hidden />}
                        {order === 'desc' && <ArrowDown size={12} aria-hidden />}
                      </button>
                    ) : (
                      <span className={column.unseen ? 'sr-only' : ''}>{column.header}</span>
                    )}
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {before > 0 && <Gap height={before} />}
          {items.map(({ index, key }) => {
            const row = sorted[index]!.original;
            return (
              <tr key={String(key)} aria-rowindex={index + 1} className="group hover:bg-hover">
                {columns.map((column) => (
                  <td
                    key={column.id}
                    className={`h-9 max-w-80 truncate border-b border-line px-3 group-last:border-b-0 ${column.spare ? SPARE : ''} ${column.align === 'right' ? 'text-right' : ''}`}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <Gap height={after} />}
        </tbody>
      </table>
    </div>
  );
}

/** Stands in for the rows that are not in view. */
const Gap = ({ height }: { height: number }) => (
  <tr aria-hidden>
    {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label -- it is no control, and nobody hears of it */}
    <td style={{ height }} />
  </tr>
);
