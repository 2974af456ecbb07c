import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useEffect, useRef, type ReactNode } from 'react';

export interface Column<T> {
  id: string;
  header: string;
  cell: (row: T) => ReactNode;
  /** What the column is sorted by; without it, it is not. */
  value?: (row: T) => string | number;
  /** Left out where there is little room. */
  spare?: boolean;
  align?: 'right';
  /** Its text is never cut off: it takes as many lines as it needs. */
  wraps?: boolean;
  /** The header is only for who hears it. */
  unseen?: boolean;
}

export type Order = 'asc' | 'desc';

/** Height of a row, px. */
export const ROW = 36;
export const OVERSCAN = 12;
const SPARE = 'max-md:hidden';
const WRAPS = 'min-w-40 max-w-md py-1.5 break-words';
const CUT = 'max-w-80 truncate';

interface TableFrameProps<T> {
  label: string;
  columns: readonly Column<T>[];
  count: number;
  /** Undefined: it is being loaded. */
  rowAt: (index: number) => T | undefined;
  keyAt: (index: number) => string;
  /** How a column is sorted at present; undefined: it cannot be. */
  orderOf: (column: string) => Order | null | undefined;
  onSort: (column: string) => void;
  tall: boolean;
  /** Called with the first and last row that are in the document. */
  onRange?: (first: number, last: number) => void;
  /** Where it is scrolled to at first, and who keeps where it is, px. */
  top?: { initial: number; keep: (top: number) => void };
}

/** A table of any length: only rows in view are in the document. */
export function TableFrame<T>(props: TableFrameProps<T>) {
  const { label, columns, count, rowAt, keyAt, tall, onRange, top } = props;
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: OVERSCAN,
    getItemKey: keyAt,
    initialOffset: top?.initial ?? 0,
  });
  const items = virtual.getVirtualItems();
  const hasTallRows = columns.some(({ wraps }) => wraps === true);
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onRange?.(first, last), [first, last, count, onRange]);
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);

  return (
    <div
      ref={frame}
      role="region"
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, and the keyboard must be able to
      tabIndex={0}
      onScroll={({ currentTarget }) => top?.keep(currentTarget.scrollTop)}
      className={`relative overflow-auto rounded-lg border border-line bg-surface ${tall ? 'max-h-[calc(100dvh-11rem)]' : 'max-h-[32rem]'}`}
    >
      <table className="w-full border-separate border-spacing-0 text-left" aria-rowcount={count}>
        <Head {...props} />
        <tbody>
          {before > 0 && <Gap height={before} />}
          {items.map(({ index, key }) => {
            const row = rowAt(index);
            return (
              <tr
                key={String(key)}
                data-index={index}
                ref={hasTallRows ? virtual.measureElement : undefined}
                aria-rowindex={index + 1}
                aria-busy={row === undefined}
                className="group hover:bg-hover"
              >
                {columns.map((column, place) => (
                  <td
                    key={column.id}
                    className={`h-9 border-b border-line px-3 group-last:border-b-0 ${column.wraps ? WRAPS : CUT} ${column.spare ? SPARE : ''} ${column.align === 'right' ? 'text-right' : ''}`}
                  >
                    {row !== undefined ? column.cell(row) : place === 0 && <span className="text-muted">…</span>}
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

function Head<T>({ columns, orderOf, onSort }: Pick<TableFrameProps<T>, 'columns' | 'orderOf' | 'onSort'>) {
  return (
    <thead className="sticky top-0 z-10 bg-surface">
      <tr>
        {columns.map(({ id, header, spare, align, unseen }) => {
          const order = orderOf(id);
          return (
            <th
              key={id}
              scope="col"
              aria-sort={!order ? undefined : order === 'asc' ? 'ascending' : 'descending'}
              className={`h-9 border-b border-line px-3 text-xs font-medium whitespace-nowrap text-muted ${spare ? SPARE : ''} ${align === 'right' ? 'text-right' : ''}`}
            >
              {order === undefined ? (
                <span className={unseen ? 'sr-only' : ''}>{header}</span>
              ) : (
                <button
                  type="button"
                  className="inline-flex items-center gap-1 hover:text-text"
                  onClick={() => onSort(id)}
                >
                  {header}
                  {order === 'asc' && <ArrowUp size={12} aria-hidden />}
                  {order === 'desc' && <ArrowDown size={12} aria-hidden />}
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** Stands in for the rows that are not in view. */
const Gap = ({ height }: { height: number }) => (
  <tr aria-hidden>
    {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label -- it is no control, and nobody hears of it */}
    <td style={{ height }} />
  </tr>
);
